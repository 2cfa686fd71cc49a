import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { expect } from 'vitest';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { localEvmChainId, localEvmConfig } from '../../../src/edges/ledger/evm-chain.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { type Json, type Registered, registered, streamed } from '../../e2e/gateway/gateway-client.ts';
import { until } from '../../support/polling.ts';
import type { ReceivedSpan, Receiver } from './otlp-receiver.ts';

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
  await until('the trace of the upload is complete', () => lacking().length === 0).catch(() => {
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

const wallet = { traceId: 'c0ffee00000000000000000000000043', spanId: '00f067aa0ba902b8' };

/** Sends a transaction by JSON-RPC with a `traceparent`: its trace leads from the request to the event in the log. */
export async function expectTransactionTraced(url: string, receiver: Receiver): Promise<void> {
  const call = async (method: string, ...params: readonly unknown[]): Promise<Json> => {
    const headers = { 'content-type': 'application/json', traceparent: `00-${wallet.traceId}-${wallet.spanId}-01` };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return (await (await fetch(url, { method: 'POST', headers, body })).json()) as Json;
  };
  const key = developmentAccounts().find(({ key: { type }, index }) => type === 'eth_secp256k1' && index === 7);
  const counted = await call('eth_getTransactionCount', key?.hex, 'pending');
  const { time, genesis } = localBeginning(1, Date.now());
  const common = createForks(localEvmConfig(time, genesis)).at({ number: 1n, timestamp: BigInt(Date.parse(time)) });
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n, gasLimit: 21_000n };
  const nonce = BigInt(String(counted['result']));
  const fields = { ...fees, chainId: BigInt(localEvmChainId), nonce, to: `0x${'5c'.repeat(20)}`, value: 1n } as const;
  const signed = createFeeMarket1559Tx(fields, { common }).sign(key?.key.bytes ?? new Uint8Array(32));
  expect(await call('eth_sendRawTransaction', `0x${Buffer.from(signed.serialize()).toString('hex')}`)).toMatchObject({
    result: `0x${Buffer.from(signed.hash()).toString('hex')}`,
  });
  const path = 'POST > eth_sendRawTransaction > commands/SubmitTransactions > send POOL';
  await until('the trace leads to the event', () => receiver.paths(wallet.traceId).includes(path));
  const sent = receiver.spans.find(({ traceId, name }) => traceId === wallet.traceId && name === 'send POOL');
  expect(sent?.attributes).toMatchObject({ 'messaging.destination.name': 'POOL' });
}

const reader = { traceId: 'c0ffee00000000000000000000000044', spanId: '00f067aa0ba902b9' };

/** Reads actions with a `traceparent`: the span names the route without its query, and the position that was read. */
export async function expectReadTraced(base: string, receiver: Receiver): Promise<void> {
  const headers = { traceparent: `00-${reader.traceId}-${reader.spanId}-01` };
  const answer = await until('actions are read', async () => {
    const one = await fetch(`${base}/v1/actions?limit=1`, { headers });
    return one.status === 200 && one;
  });
  const isRead = ({ traceId, attributes }: ReceivedSpan): boolean =>
    traceId === reader.traceId && attributes['http.response.status_code'] === 200;
  const span = await until('the read is traced', () => receiver.spans.find(isRead));
  expect(span).toMatchObject({ name: 'GET /v1/actions', kind: 2, parentSpanId: reader.spanId });
  expect(span.attributes).toMatchObject({
    'http.route': '/v1/actions',
    'http.response.status_code': 200,
    'annals.position': answer.headers.get('annals-position'),
  });
  expect(JSON.stringify(span)).not.toContain('limit');
}
