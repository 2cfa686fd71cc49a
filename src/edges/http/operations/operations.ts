import { Type } from 'typebox';
import { retryAfterSeconds } from '../errors.ts';
import type { Metrics } from './metrics.ts';
import type { Check } from '../../../kit/observed.ts';
import { liveness, operationTag, readiness } from './operation-schemas.ts';
import { assess } from './readiness.ts';
import { type App, errors, plainAnswer } from '../schema.ts';

const tags = [operationTag.name];
const noStore = { 'cache-control': 'no-store' };

/** What the routes of operations show; `checks` are those of the parts that run at the time of a request. */
export type Operations = Readonly<{ checks: () => readonly Check[]; metrics: Metrics }>;

/** `/healthz`, `/readyz`, `/openapi.json` and `/metrics`, for any app of any process. */
export function operationRoutes(app: App, { checks, metrics }: Operations): void {
  const alive = {
    tags,
    operationId: 'healthz',
    summary: 'Whether the process runs',
    response: { 200: plainAnswer('It does.', liveness.ref) },
  };
  app.get('/healthz', { schema: alive }, async (_request, reply) => {
    reply.headers(noStore);
    return { status: 'ok' };
  });
  addReadiness(app, checks);
  const document = {
    tags,
    operationId: 'openapi',
    summary: 'This document',
    response: { 200: plainAnswer('OpenAPI 3.0.', Type.Unsafe<object>({ type: 'object', additionalProperties: true })) },
  };
  app.get('/openapi.json', { schema: document }, () => app.swagger());
  addMetrics(app, metrics);
}

function addReadiness(app: App, checks: Operations['checks']): void {
  const schema = {
    tags,
    operationId: 'readyz',
    summary: 'Whether the answers can be relied on',
    description:
      'Not ready only when the database or the broker is down, a projection has stopped or is not built yet, or a source of sync has no completed round in the log.',
    response: { 200: plainAnswer('Ready.', readiness.ref), 503: plainAnswer('Not ready, and why.', readiness.ref) },
  };
  app.get('/readyz', { schema }, async (_request, reply) => {
    const { reasons, warnings, durability } = await assess(checks());
    reply.headers(noStore);
    if (reasons.length === 0) return { ready: true, warnings: [...warnings], durability };
    reply.code(503).header('retry-after', String(retryAfterSeconds));
    return { ready: false, reasons: [...reasons], warnings: [...warnings], durability };
  });
}

function addMetrics(app: App, metrics: Metrics): void {
  const text = { description: 'Prometheus text format.', content: { 'text/plain': { schema: Type.String() } } };
  const schema = {
    tags,
    operationId: 'metrics',
    summary: 'Figures of this instance for Prometheus',
    response: { 200: text, ...errors() },
  };
  app.get('/metrics', { schema }, async (_request, reply) => {
    const figures = await metrics.text();
    reply.headers({ ...noStore, 'content-type': metrics.contentType });
    return figures;
  });
}
