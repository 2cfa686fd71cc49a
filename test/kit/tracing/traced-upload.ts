import { expect } from 'vitest';
import { type Json, type Registered, registered, streamed } from '../../e2e/gateway-client.ts';
import { until } from '../../support/polling.ts';
import type { Receiver } from './otlp-receiver.ts';

const caller = { traceId: 'c0ffee00000000000000000000000042', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;

/** The paths that the trace of an upload has at least: request, event, projection and rows, and the node's part. */
const wanted = [
  /^POST \/api\/v1\/actions\/cascade$/,
  /^POST .*> commands\/RequestTransfer > send TRANSFERS$/,
  /^POST .*> commands\/RequestTransfer > send TRANSFERS > process TRANSFERS > upsert transfers$/,
  /^POST .*> commands\/RecordTransfers > send TRANSFERS > process TRANSFERS > upsert transfers$/,
  /^POST .*> cascade\.CascadeService\/Register > cascade\.CascadeService\/Register$/,
  /> cascade\.CascadeService\/Register > .*commands\/RecordFiles > send STORAGE > process STORAGE > upsert \w+$/,
];

/**
 * Uploads a file with a `traceparent` as `curl -H traceparent:` sends it, and waits for the spans that continue it: one
 * trace from the request to the rows, through the gateway, the log, a SuperNode in another process, and projections.
 */
export async function expectUploadTraced(gateway: string, receiver: Receiver): Promise<void> {
  const file = await registered(gateway, 'traced.bin');
  const task = await uploadWithin(gateway, file);
  await streamed(`${gateway}/api/v1/actions/cascade/tasks/${task}/status`);
  const lacking = () => {
    const paths = receiver.paths(caller.traceId);
    return wanted.filter((one) => !paths.some((path) => one.test(path)));
  };
  await until('the trace of the upload is complete', () => lacking().length === 0, 60_000).catch(() => {
    expect(receiver.paths(caller.traceId)).toEqual(lacking());
  });
  const own = receiver.spans.filter(({ traceId }) => traceId === caller.traceId);
  const byName = (name: string) => own.find((span) => span.name === name);
  expect(byName('POST /api/v1/actions/cascade')).toMatchObject({
    service: 'annals',
    parentSpanId: caller.spanId,
    kind: 2,
    attributes: { 'http.request.method': 'POST', 'http.response.status_code': 202 },
  });
  const sent = byName('send TRANSFERS');
  expect(sent).toMatchObject({ kind: 4, attributes: { 'messaging.system': 'nats' } });
  expect(own.filter(({ name, kind }) => name === 'process TRANSFERS' && kind === 5)).not.toEqual([]);
  expect(byName('upsert transfers')).toMatchObject({ kind: 3, attributes: { 'db.system.name': 'postgresql' } });
  expect(new Set(own.map(({ service }) => service))).toEqual(new Set(['annals', 'annals-nodes']));
}

async function uploadWithin(gateway: string, { action, signature, bytes }: Registered): Promise<string> {
  const form = new FormData();
  form.append('action_id', action);
  form.append('signature', signature);
  form.append('file', new Blob([bytes]), 'traced.bin');
  const url = `${gateway}/api/v1/actions/cascade`;
  const answer = await fetch(url, { method: 'POST', body: form, headers: { traceparent } });
  const body = (await answer.json()) as Json;
  expect({ status: answer.status, body }).toMatchObject({ status: 202 });
  return String(body['task_id']);
}
