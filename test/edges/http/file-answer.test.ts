import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open, truncate, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { answerFile } from '../../../src/edges/http/file-answer.ts';
import { piecesOf } from '../../../src/kit/file-pieces.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';

const bytes = randomBytes(5 * 2 ** 20 + 17);
const { folder, remove } = freshFolder();
const file = path.join(folder, 'file');
beforeAll(async () => await writeFile(file, bytes));
afterAll(remove);

const sha256 = (given: Buffer): string => createHash('sha256').update(given).digest('hex');

async function served(): Promise<string> {
  const app = Fastify();
  app.get('/', async (request, reply) => {
    const handle = await open(file);
    return await answerFile(request, reply, { handle, size: bytes.length, etag: '"e"', name: 'file' });
  });
  onTestFinished(() => app.close());
  return await app.listen({ host: '127.0.0.1', port: 0 });
}

/** Takes what comes only now and then, so that the sender has to wait again and again. */
async function readSlowly(url: string, headers: Record<string, string> = {}): Promise<Buffer> {
  const [answer] = (await once(get(url, { headers }), 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) {
    parts.push(Buffer.from(part as Buffer));
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  }
  return Buffer.concat(parts);
}

describe('a file that is served', () => {
  test('comes whole to a reader that is slow, and to many at once', async () => {
    const url = await served();
    const read = await Promise.all(Array.from({ length: 4 }, async () => sha256(await readSlowly(url))));
    expect(new Set(read)).toEqual(new Set([sha256(bytes)]));
  });

  test('comes right in many small ranges and a large one', async () => {
    const ranges = [...Array.from({ length: 20 }, (_, at) => [at * 1000, at * 1000 + 500]), [300_000, 4_000_000]];
    const range = `bytes=${ranges.map(([first, last]) => `${first}-${last}`).join(',')}`;
    const whole = await readSlowly(await served(), { range });
    for (const [first = 0, last = 0] of ranges) expect(whole.includes(bytes.subarray(first, last + 1))).toBe(true);
  });
});

test('a file whose caller has hung up is closed at once', async () => {
  const app = Fastify();
  const handles: FileHandle[] = [];
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  app.get('/', async (request, reply) => {
    const handle = await open(file);
    handles.push(handle);
    reply.raw.once('close', leave);
    arrive();
    await gone;
    return await answerFile(request, reply, { handle, size: bytes.length, etag: '"e"', name: 'file' });
  });
  onTestFinished(() => app.close());
  const asking = get(await app.listen({ host: '127.0.0.1', port: 0 })).on('error', () => undefined);
  await arrived;
  asking.destroy();
  await expect.poll(() => handles.map(({ fd }) => fd)).toEqual([-1]);
});

describe('pieces of a file', () => {
  test('are those of its part, in as many buffers as are held', async () => {
    await using handle = await open(file);
    const given: Buffer[] = [];
    const places = new Set<ArrayBufferLike>();
    const part = { first: 7, last: 1_000_006, pieceBytes: 65_536, held: 3 };
    for await (const piece of piecesOf(handle, part)) {
      given.push(Buffer.from(piece));
      places.add(piece.buffer);
    }
    expect(sha256(Buffer.concat(given))).toBe(sha256(bytes.subarray(7, 1_000_007)));
    expect(places.size).toBe(3);
  });

  test('end with an error where the file does', async () => {
    const short = path.join(folder, 'short');
    await writeFile(short, bytes.subarray(0, 1000));
    await truncate(short, 900);
    await using handle = await open(short);
    const all = async (): Promise<number> => {
      let size = 0;
      for await (const piece of piecesOf(handle, { first: 0, last: 999, pieceBytes: 600 })) size += piece.length;
      return size;
    };
    await expect(all()).rejects.toThrow('shorter than it was');
  });
});
