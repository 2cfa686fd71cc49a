import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectRouter, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CascadeService, SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import type { BodyPace } from '../../../src/edges/rpc/body-pace.ts';
import { createRpcHandler } from '../../../src/edges/rpc/handler.ts';
import { openRpcPort } from '../../../src/edges/rpc/server.ts';
import { bytePaths } from '../../../src/edges/node/services.ts';
import { standStill } from '../../support/stand-still.ts';

const [silenceMs, chunkBytes, mostBytes] = [1_000, 2 ** 20, 16 * 2 ** 20];

/** A port whose node writes each of the first chunks for longer than a client may be silent. */
async function slowPort(
  slowChunks: number,
  { silentMs = silenceMs, pace }: Readonly<{ silentMs?: number; pace?: BodyPace }> = {},
): Promise<number> {
  const logger = pino({ level: 'silent' });
  const routes = (router: ConnectRouter): void => {
    const node = {
      async *register(requests: AsyncIterable<unknown>) {
        let left = slowChunks;
        for await (const _ of requests) if ((left -= 1) >= 0) await pause(2 * silenceMs);
        yield { eventType: SupernodeEventType.ACTION_FINALIZED, message: 'done', txHash: '' };
      },
      async *download() {
        yield* [];
      },
    };
    router.service(CascadeService, node, { readMaxBytes: mostBytes });
  };
  const handler = createRpcHandler(routes, logger, pace ? { pace } : {});
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const server = await openRpcPort({ place, handler, logger, silenceMs: silentMs });
  onTestFinished(server.close);
  return server.port;
}

/** Sends so many chunks at once, and then nothing for `silentMs`. */
async function* chunks(count: number, silentMs = 0) {
  const data = Buffer.alloc(chunkBytes);
  for (let sent = 0; sent < count; sent += 1) yield { requestType: { case: 'chunk' as const, value: { data } } };
  if (silentMs > 0) await pause(silentMs, undefined, { ref: false });
  yield { requestType: { case: 'metadata' as const, value: { taskId: 'one', actionId: '7' } } };
}

/** Begins, stands still with this whole process after a part of the time that a client may be silent, and goes on. */
async function* stillAfter(part: number, count: number) {
  yield* chunks(0);
  await pause(part * silenceMs);
  standStill(2 * silenceMs);
  yield* chunks(count);
}

async function messagesOf(port: number, sent: ReturnType<typeof chunks>): Promise<string[]> {
  const client = createClient(CascadeService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  return (await Array.fromAsync(client.register(sent))).map(({ message }) => message);
}

it.each([2, 20])(
  'a client of %i chunks is not cut off as silent while the node’s own disk is behind',
  { tags: ['S1.port.slow'] },
  async (count) => {
    expect(await messagesOf(await slowPort(2), chunks(count))).toEqual(['done']);
  },
);

it.each([0.5, 0.9])(
  'a client that was silent for %f of its time is not cut off for what the process stood still after that',
  { tags: ['S1.port.slow'] },
  async (part) => {
    expect(await messagesOf(await slowPort(0), stillAfter(part, 0))).toEqual(['done']);
  },
);

it('a client that sends no more is cut off though the disk was behind before', { tags: ['S1.port.slow'] }, async () => {
  await expect(messagesOf(await slowPort(1), chunks(2, 60_000))).rejects.toThrow(/CANCEL|aborted/);
});

describe('an upload that must come with so many bytes a second', () => {
  const pace = { paths: bytePaths, bytesPerSecond: chunkBytes / 16, windowMs: silenceMs };
  const silentMs = 20 * silenceMs;

  it.each([0.5, 0.9])(
    'is not too slow for what the process stood still after %f of its time',
    { tags: ['S1.port.slow'] },
    async (part) => {
      expect(await messagesOf(await slowPort(0, { silentMs, pace }), stillAfter(part, 4))).toEqual(['done']);
    },
  );

  it('is too slow where its client alone is', { tags: ['S1.port.slow'] }, async () => {
    await expect(messagesOf(await slowPort(0, { silentMs, pace }), chunks(1, 60_000))).rejects.toThrow('too slowly');
  });
});
