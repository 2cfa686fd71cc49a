import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type EmbeddedNats, startNats } from '../../../../src/edges/servers/nats/nats-server.ts';
import { watchServer } from '../../../../src/edges/servers/nats/nats-watch.ts';
import { wrongHeads } from '../../../../src/edges/servers/nats/record-heads.ts';
import { streamsFolder } from '../../../../src/edges/servers/nats/stream-files.ts';
import { flipBit } from '../../../support/flip-bit.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const stream = 'KEPT';
const messages = 20;
/** By 2^40 and by 2^24: the server would count for hours, and for a second. By 1: it would drop all that follows. */
const bytesOfNumber = [5, 3, 0];

type Store = Readonly<{ dir: string; start: () => Promise<EmbeddedNats>; said: () => string }>;

function store(): Store {
  const dir = temporaryFolder();
  const said: string[] = [];
  const options = { dir, host: '127.0.0.1', port: 0, wsPort: 0, say: (text: string) => void said.push(text) };
  const start = async (): Promise<EmbeddedNats> => {
    const server = await startNats(options);
    onTestFinished(() => server.kill());
    return server;
  };
  return { dir, start, said: () => said.join('\n') };
}

async function managerOf({ url, user, pass }: EmbeddedNats): Promise<JetStreamManager> {
  const nc = await connect({ servers: url, user, pass, timeout: 1000, reconnect: false });
  onTestFinished(() => nc.close());
  return await jetstreamManager(nc, { timeout: 1000 });
}

/** Leaves what it kept on disk, with no server running. */
async function filled({ start }: Store): Promise<void> {
  const server = await start();
  const manager = await managerOf(server);
  await manager.streams.add({ name: stream, subjects: ['kept.>'] });
  for (let n = 1; n <= messages; n++) await manager.jetstream().publish(`kept.${n}`, `fact ${n}`);
  await server.stop();
}

async function kept(server: EmbeddedNats): Promise<string[]> {
  const manager = await managerOf(server);
  const found: string[] = [];
  for (let seq = 1; seq <= messages; seq++) {
    const message = await manager.streams.getMessage(stream, { seq });
    found.push(message?.string() ?? 'nothing');
  }
  return found;
}

const all = Array.from({ length: messages }, (_, n) => `fact ${n + 1}`);

function flipNumber({ dir }: Store, nth: number, byte: number): void {
  const file = path.join(streamsFolder(dir), stream, 'msgs', '1.blk');
  const block = readFileSync(file);
  let at = 0;
  for (let n = 1; n < nth; n++) at += block.readUInt32LE(at) & 0x7fff_ffff;
  flipBit(file, at + 4 + byte);
}

test.for([
  ['first', 1],
  ['middle', 10],
  ['last', messages],
] as const)('startNats gives the %s record its number again, of which a bit was flipped', async ([, nth]) => {
  const one = store();
  await filled(one);
  for (const byte of nth === messages ? bytesOfNumber.slice(0, 1) : bytesOfNumber) {
    flipNumber(one, nth, byte);
    const server = await one.start();
    expect(await kept(server)).toEqual(all);
    expect(one.said()).toContain(`is number ${BigInt(nth) ^ (1n << BigInt(8 * byte))} where ${nth} must be`);
    await server.stop();
  }
});

test('watchServer ends a server that counts without end what a damaged record leaves out, and the next one has everything', async () => {
  const one = store();
  await filled(one);
  const server = await one.start();
  flipNumber(one, 10, 5);
  const options = { say: () => undefined, lookEachMs: 50, muchMemory: 100 << 20 };
  const { promise: reason, resolve } = Promise.withResolvers<string>();
  onTestFinished(watchServer(() => server, one.dir, { ...options, onStuck: resolve }));
  await expect(kept(server)).rejects.toThrow();
  expect(await reason).toMatch(/takes \d+ MB of memory, and a record of .*1\.blk is damaged/);
  expect(await server.exited).toContain('SIGKILL');
  expect(await kept(await one.start())).toEqual(all);
});

const mega = 1_000_000n;

test.for([
  ['numbers left out because what was there has been deleted', [1n, 9n * mega, 9n * mega + 1n, 500n * mega], []],
  ['a number that is too low', [9n * mega, 9n * mega + 1n, 2n, 9n * mega + 3n], [[2n, 9n * mega + 2n]]],
  ['a number that is too high', [5n, 6n, 9n * mega, 8n], [[9n * mega, 7n]]],
  ['a number before the others that is too high', [9n * mega, 8n, 9n], [[9n * mega, 7n]]],
  ['a second number that is none at all', [1n, 0n, 3n, 4n], [[0n, 2n]]],
  ['a first number that is none at all', [0n, 2n, 3n], [[0n, 1n]]],
  ['a first number that is a little too high, which nothing tells', [3n, 2n, 3n, 4n], []],
  ['a second number that is far too low', [9n * mega, 1n * mega, 9n * mega + 2n], [[1n * mega, 9n * mega + 1n]]],
  ['a last number that is far too high', [5n, 1n << 40n], [[1n << 40n, 6n]]],
] as const)('wrongHeads of %s', async ([, numbers, expected]) => {
  expect(await wrongOf(temporaryFolder(), numbers)).toEqual(expected);
});

test('wrongHeads names no other record than the one whose number lost or gained a bit, and knows what it was', async () => {
  const folder = temporaryFolder();
  const flips = fc.record({
    first: fc.bigInt(1n, 1n << 40n),
    count: fc.integer({ min: 3, max: 6 }),
    which: fc.nat(5),
    bit: fc.bigInt(0n, 61n),
  });
  const check = fc.asyncProperty(flips, async ({ first, count, which, bit }) => {
    const numbers = Array.from({ length: count }, (_, n) => first + BigInt(n));
    const at = which % count;
    const was = numbers[at] ?? 0n;
    const flipped = numbers.with(at, was ^ (1n << bit));
    for (const one of await wrongOf(folder, flipped)) expect(one).toEqual([flipped[at], was]);
  });
  await fc.assert(check, { numRuns: 200 });
});

/** Numbers found, with what they should have been, of records in two blocks with half a record behind them. */
async function wrongOf(folder: string, numbers: readonly bigint[]): Promise<[found: bigint, seq: bigint][]> {
  const blocks = path.join(folder, 'S', 'msgs');
  mkdirSync(blocks, { recursive: true });
  const records = numbers.map((seq) => recordOf(seq));
  const halfWritten = recordOf(1n << 50n).subarray(0, 35);
  writeFileSync(path.join(blocks, '9.blk'), Buffer.concat(records.slice(0, 2)));
  writeFileSync(path.join(blocks, '10.blk'), Buffer.concat([...records.slice(2), halfWritten]));
  return (await wrongHeads(folder)).map((wrong) => [wrong.found, wrong.seq]);
}

function recordOf(seq: bigint): Buffer {
  const record = Buffer.alloc(22 + 1 + 5 + 8);
  record.writeUInt32LE(record.length);
  record.writeBigUInt64LE(seq, 4);
  record.writeUInt16LE(1, 20);
  return record;
}
