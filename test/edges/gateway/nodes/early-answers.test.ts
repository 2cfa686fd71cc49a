import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { StoringNode } from '../../../../src/edges/chain/files/chain.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../../../src/edges/chain/sign/keys.ts';
import { watchAttempt } from '../../../../src/edges/gateway/nodes/attempt-watch.ts';
import { messageBytes } from '../../../../src/edges/gateway/nodes/connection.ts';
import { uploadTo } from '../../../../src/edges/gateway/nodes/upload.ts';
import { CascadeService } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { channelOpener } from '../../../../src/edges/rpc/channel/open-channel.ts';
import { createRpcHandler } from '../../../../src/edges/rpc/handler.ts';
import { openRpcPort } from '../../../../src/edges/rpc/server.ts';
import { temporaryFolder } from '../../../support/programs/processes.ts';
import { creatorKey } from '../gateway-under-test.ts';
import { foreverMs } from '../misdeeds.ts';
import type { Node } from '../nodes-under-test.ts';
import { type EarlyAnswer, frames, serveFrames } from './frames-server.ts';

const size = 3_000_000;
const nodeKey: PrivateKey = { type: 'secp256k1', bytes: new Uint8Array(32).fill(9) };
const account = accountOf(publicKeyOf(nodeKey));
const refusal = '[failed_precondition] not today';

/** A file of random bytes. */
async function fileOf(): Promise<{ path: string; size: number }> {
  const file = path.join(temporaryFolder(), 'file');
  await writeFile(file, randomBytes(size));
  return { path: file, size };
}

/** Sends a file to a node; returns why that failed. */
async function failureOf(port: number, file: { path: string; size: number }, key?: PrivateKey): Promise<string> {
  const limits = { limitMs: () => foreverMs, patienceMs: () => undefined, onSlow: () => undefined };
  const watch = watchAttempt({ ...limits, outer: new AbortController().signal });
  const node: StoringNode = { account, ip: '127.0.0.1', port };
  const own = key && (async () => await Promise.resolve(key));
  const dialling = { key: own, handshakes: new Map() };
  const attempt = { node, iteration: 1, attemptId: 'one', dialling, about: {}, watch, countEvent: () => undefined };
  try {
    for await (const _ of uploadTo(attempt, '7', file));
    return 'it succeeded';
  } catch (caught) {
    return caught instanceof Error ? caught.message : String(caught);
  } finally {
    watch.stop();
  }
}

const { headers, trailers, trailersOnly, reset, goAway } = frames;
const answers: readonly (readonly [string, Omit<EarlyAnswer, 'isOneWrite'>])[] = [
  ['trailers', { parts: [headers, trailers] }],
  ['trailers alone', { parts: [trailersOnly] }],
  ['trailers and a reset without an error', { parts: [headers, trailers, reset(0)] }],
  ['trailers alone and a reset without an error', { parts: [trailersOnly, reset(0)] }],
  ['trailers and a reset of a closed stream', { parts: [headers, trailers, reset(5)] }],
  ['trailers and a reset that cancels', { parts: [headers, trailers, reset(8)] }],
  ['trailers and GOAWAY', { parts: [headers, trailers, goAway(0)] }],
  ['trailers, a reset and GOAWAY', { parts: [headers, trailers, reset(0), goAway(0)] }],
  ['trailers after GOAWAY', { parts: [goAway(0), headers, trailers, reset(0)] }],
  ['trailers and GOAWAY for too many pings', { parts: [headers, trailers, goAway(11)] }],
  ['trailers and the end of the connection', { parts: [headers, trailers], close: 'end' }],
  ['trailers, a reset and the end of the connection', { parts: [headers, trailers, reset(0)], close: 'end' }],
  ['trailers, GOAWAY and the end of the connection', { parts: [headers, trailers, goAway(0)], close: 'end' }],
];
const moments: readonly (readonly [string, number])[] = [
  ['the head', -1],
  ['the first bytes', 1],
  ['a tenth', size / 10],
  ['nearly everything', size - 100_000],
  ['the end', Infinity],
];

describe.each(moments)('a node that answers after %s of the file', (_, afterBytes) => {
  it.each(answers)('with %s is heard', { tags: ['S3.nodes.hostile'] }, async (_name, answer) => {
    const file = await fileOf();
    for (const isOneWrite of [true, false]) {
      const port = await serveFrames(afterBytes, { ...answer, isOneWrite });
      expect(await failureOf(port, file)).toBe(refusal);
    }
  });
});

/** Our own port, whose node refuses once it has so many bytes. */
async function refusingPort(afterBytes: number): Promise<number> {
  const logger = pino({ level: 'silent' });
  const handler = createRpcHandler((router) => {
    const node = {
      async *register(requests) {
        yield* [];
        let bytes = 0;
        if (afterBytes > 0)
          for await (const { requestType } of requests) {
            if (requestType.case === 'chunk') bytes += requestType.value.data.length;
            if (bytes >= afterBytes) break;
          }
        throw new ConnectError('not today', Code.FailedPrecondition);
      },
      async *download() {
        yield* [];
      },
    } satisfies Node;
    router.service(CascadeService, node, { readMaxBytes: messageBytes });
  }, logger);
  const openChannel = channelOpener({ key: nodeKey, isWelcome: async () => await Promise.resolve(true) });
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const server = await openRpcPort({ place, handler, openChannel, logger });
  onTestFinished(server.close);
  return server.port;
}

it.each(moments)('our own node that refuses after %s is heard, on both kinds of channel', async (_, afterBytes) => {
  const [file, port] = [await fileOf(), await refusingPort(afterBytes)];
  for (let tries = 0; tries < 5; tries += 1)
    for (const key of [undefined, creatorKey]) expect(await failureOf(port, file, key)).toBe(refusal);
});
