import type { FastifyReply } from 'fastify';
import type { KnownHook } from '../../commands/hooks/hook-state.ts';
import type { Heads } from '../../engine/log/head.ts';
import { eventType } from '../../events/upcast.ts';
import { isFactType } from '../../events/catalogue.ts';
import type { HookAdministration } from '../hooks/administration.ts';
import { lagOf } from '../hooks/observed.ts';
import { type App, errors, plainAnswer } from '../http/schema.ts';
import { hookAnswers, hookChange, hookParams, registration, replay, rotation } from './hook-schemas.ts';

/** What the routes of webhooks work on. */
export type HookRoutes = Readonly<{ hooks: HookAdministration; heads: () => Promise<Heads> }>;

/** Name of their group in the document. */
export const hookTag = 'Webhooks';
const tags = [hookTag];

/** Routes of webhooks: where events are sent, and how far that is. */
export function addHooks(app: App, { hooks, heads }: HookRoutes): void {
  const one = async (hook: string, known: KnownHook) => hookView(hook, known, await heads());
  const answered = async (id: string) => await one(id, await hooks.find(id));
  addActsOnHooks(app, hooks, answered);
  const listSchema = {
    tags,
    operationId: 'hooks',
    summary: 'Webhooks and how far they are',
    response: { 200: plainAnswer('Those that were not removed.', hookAnswers.list.ref), ...errors() },
  };
  app.get('/admin/v1/hooks', { schema: listSchema }, async () => {
    const [all, ends] = await Promise.all([hooks.list(), heads()]);
    return { hooks: [...all].map(([hook, known]) => hookView(hook, known, ends)) };
  });
  app.get(
    '/admin/v1/hooks/:id',
    { schema: schemaOf('hook', 'A webhook and how far it is') },
    async ({ params: { id } }) => await answered(id),
  );
  const createSchema = {
    tags,
    operationId: 'register_hook',
    summary: 'Register a webhook',
    description: 'The answer shows the secret, which is shown nowhere else.',
    body: registration,
    response: { 201: plainAnswer('It is registered.', hookAnswers.registered.ref), ...errors(400, 409) },
  };
  app.post('/admin/v1/hooks', { schema: createSchema }, async ({ body }, reply) => {
    const { hook, known, secret } = await hooks.register(body);
    reply.code(201).header('location', `/admin/v1/hooks/${hook}`);
    return { hook: await one(hook, known), secret };
  });
}

type Answered = (id: string) => Promise<ReturnType<typeof hookView>>;

function addActsOnHooks(app: App, hooks: HookAdministration, answered: Answered): void {
  const change = { ...schemaOf('change_hook', 'Change, disable or enable a webhook', 400), body: hookChange };
  app.patch('/admin/v1/hooks/:id', { schema: change }, async ({ params: { id }, body }) => {
    await hooks.change(id, body);
    return await answered(id);
  });
  const remove = {
    ...schemaOf('remove_hook', 'Remove a webhook'),
    response: { 204: { description: 'It is removed.', type: 'null' }, ...errors(404) },
  };
  app.delete('/admin/v1/hooks/:id', { schema: remove }, async ({ params: { id } }, reply): Promise<FastifyReply> => {
    await hooks.remove(id);
    return await reply.code(204).send();
  });
  const again = { ...schemaOf('replay_hook', 'Send events again from a position', 400), body: replay };
  app.post('/admin/v1/hooks/:id/replay', { schema: again }, async ({ params: { id }, body }) => {
    await hooks.replay(id, body);
    return await answered(id);
  });
  const rotate = {
    ...schemaOf('rotate_hook_secret', 'Sign with another secret'),
    querystring: rotation,
    response: { 200: plainAnswer('The secret from now on.', hookAnswers.registered.ref), ...errors(400, 404) },
  };
  app.post('/admin/v1/hooks/:id/rotate', { schema: rotate }, async ({ params: { id }, query }) => {
    const secret = await hooks.rotate(id, query.grace_seconds);
    return { hook: await answered(id), secret };
  });
  const test = {
    ...schemaOf('test_hook', 'Send an event to try a webhook out'),
    response: { 200: plainAnswer('What the receiver answered.', hookAnswers.tested.ref), ...errors(404) },
  };
  app.post('/admin/v1/hooks/:id/test', { schema: test }, async ({ params: { id } }) => await hooks.test(id));
}

function schemaOf(operationId: string, summary: string, ...statuses: readonly 400[]) {
  return {
    tags,
    operationId,
    summary,
    params: hookParams,
    response: { 200: plainAnswer('The webhook.', hookAnswers.hook.ref), ...errors(404, ...statuses) },
  };
}

function hookView(id: string, known: KnownHook, heads: Heads) {
  const { lastFailure } = known;
  return {
    id,
    url: known.url,
    description: known.description,
    streams: known.positions.map(({ stream, sequence }) => ({
      name: stream,
      position: sequence,
      lag_events: lagOf(heads, stream, sequence),
    })),
    types: known.types.map((type) => (isFactType(type) ? eventType(type) : type)),
    entity: known.entity ?? null,
    status: known.status as 'enabled' | 'disabled' | 'removed',
    disabled_reason: known.disabledReason ?? null,
    created_at: known.createdAt,
    previous_secret_until: known.previousUntil ?? null,
    paused_until: known.pausedUntil ?? null,
    delivered: known.delivered,
    failed: known.failed,
    last_delivered_at: known.lastDeliveredAt ?? null,
    last_failure: lastFailure ? { ...lastFailure, status: lastFailure.status ?? null } : null,
    waiting: known.waiting.map(({ stream, entity, sequence, attempts, since, nextAt }) => ({
      stream,
      entity,
      sequence,
      attempts,
      since,
      next_at: nextAt,
    })),
  };
}
