import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { highwayHash64 } from '../../../../src/engine/servers/nats/highway-hash.ts';
import { streamsFolder } from '../../../../src/engine/servers/nats/nats-addresses.ts';
import { type EmbeddedNats, startNats } from '../../../../src/engine/servers/nats/nats-server.ts';
import { watchServer } from '../../../../src/engine/servers/nats/nats-watch.ts';
import { flipBit } from '../../../support/kills/flip-bit.ts';
import { eventually } from '../../../support/polling.ts';
import { temporaryFolder } from '../../../support/programs/processes.ts';
import { steadyPort } from '../../../support/programs/steady-port.ts';

const messages = Array.from({ length: 20 }, (_, at) => `message ${at + 1} ${'x'.repeat(at * 7)}`);
/** Of those that stand first, in the middle and last, and a bit of each half that a server would count up to. */
const harms = [1, 1, 7, 13, 20, 20].map((sequence, at) => ({ sequence, bit: at % 2 === 0 ? 52 : 34 }));

test('HighwayHash-64 is what its reference says', () => {
  const bytes = Uint8Array.from({ length: 63 }, (_, at) => at);
  const key = bytes.subarray(0, 32);
  const hashes = [0, 1, 2, 63].map((length) => highwayHash64(key, bytes.subarray(0, length)));
  expect(hashes).toEqual([0x907a56de22c26e53n, 0x7eab43aac7cddd78n, 0xb8d0569ab0b53d62n, 0xab8eebe9bf2139a0n]);
});

test('a server starts with all of its messages after a bit of a sequence was flipped, wherever it is', async () => {
  const { start, said, flip } = await storeOf();
  let server = await start();
  await fill(server, 'MANY', messages);
  await fill(server, 'ALONE', messages.slice(0, 1));
  for (const { sequence, bit } of harms) {
    await server.stop();
    flip('MANY', sequence, bit);
    flip('ALONE', 1, bit + 9);
    server = await start();
    expect(await read(server, 'MANY')).toEqual(messages);
    expect(await read(server, 'ALONE')).toEqual(messages.slice(0, 1));
  }
  expect(said.filter((text) => text.includes('called itself'))).toHaveLength(2 * harms.length);
  await server.stop();
});

test('a running server that has met such a message is ended, and has all of them after its next start', async () => {
  const { dir, start, said, flip } = await storeOf();
  const large = Array.from({ length: 12 }, (_, at) => `${at} ${'x'.repeat(8000)}`);
  const first = await start();
  // Of the several blocks of this stream a server has only the last one in memory.
  await fill(first, 'LARGE', large, { max_bytes: 128 << 10 });
  await first.stop();
  const server = await start();
  const how = {
    onStuck: (reason: string) => said.push(reason),
    say: (text: string) => said.push(text),
    lookEachMs: 50,
  };
  onTestFinished(watchServer(() => server, dir, how));
  flip('LARGE', 2, 52);
  const meets = async (reading: Promise<unknown>) =>
    await Promise.race([server.exited.then((end) => end.includes('SIGKILL')), reading.then(() => false)]);
  let reading = read(server, 'LARGE');
  // A server that has the block in memory answers from there until nobody has asked for some seconds.
  for (let pauseMs = 100; !(await meets(reading)); pauseMs *= 2) {
    await pause(pauseMs);
    reading = read(server, 'LARGE');
  }
  const third = await start();
  onTestFinished(() => third.stop());
  // Whoever was reading goes on, for it asks again.
  expect(await reading).toEqual(large);
  expect(said.join('\n')).toMatch(/LARGE.* calls itself 4503599627370498; it is mended[^]* and is 2 by its checksum/);
});

/** A folder whose servers come and go at the same address. */
async function storeOf() {
  const dir = temporaryFolder();
  const said: string[] = [];
  const [port, wsPort] = [await steadyPort(), await steadyPort()];
  const start = async (): Promise<EmbeddedNats> =>
    await startNats({ dir, host: '127.0.0.1', port, wsPort, say: (text) => void said.push(text) });
  const flip = (stream: string, sequence: number, bit: number): void => {
    const block = path.join(streamsFolder(dir), stream, 'msgs', '1.blk');
    const subject = readFileSync(block).indexOf(`${stream}.${sequence}.`);
    flipBit(block, subject - 18 + Math.floor(bit / 8), 1 << (bit % 8));
  };
  return { dir, said, start, flip };
}

/** Messages with and without headers; none is looked at again when the server starts. */
async function fill(server: EmbeddedNats, name: string, contents: readonly string[], config = {}): Promise<void> {
  const nc = await clientOf(server);
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name, subjects: [`${name}.>`], duplicate_window: 100_000_000, ...config });
  for (const [at, content] of contents.entries())
    await jetstream(nc).publish(`${name}.${at + 1}.of`, content, at % 2 === 0 ? { msgID: `${name}-${at}` } : {});
  await nc.close();
}

/** Reads all that a stream holds, each message until the server gives it. */
async function read(server: EmbeddedNats, stream: string): Promise<(string | undefined)[]> {
  const nc = await clientOf(server);
  const { streams } = await jetstreamManager(nc);
  const { messages: count } = (await streams.info(stream)).state;
  const contents: (string | undefined)[] = [];
  for (let seq = 1; seq <= count; seq += 1)
    contents.push(await eventually(async () => (await streams.getMessage(stream, { seq }))?.string()));
  await nc.close();
  return contents;
}

async function clientOf({ url, user, pass }: EmbeddedNats): Promise<NatsConnection> {
  const nc = await connect({ servers: url, user, pass, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  onTestFinished(() => nc.close());
  return nc;
}
