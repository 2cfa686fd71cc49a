import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { followTask } from '../../src/cli/transfer/follow-task.ts';
import { fileNameIn, openFile } from '../../src/cli/transfer/fetched-file.ts';
import { requestDownload, uploadFile } from '../../src/cli/transfer/gateway-client.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';

const open: (() => void)[] = [];
afterEach(() => open.splice(0).forEach((close) => close()));

function newFolder(): string {
  const { folder, remove } = freshFolder();
  open.push(remove);
  return folder;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A gateway that answers as spec 3 says, in the ways that this test is about. */
async function gatewayOf(answer: Answer): Promise<string> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const states = [
  'sdk:started',
  'sdk:supernodes_found',
  'supernode:serve_ready',
  'sdk:download_started',
  'sdk:completed',
];
const frame = (id: number): string => {
  const event = { id: String(id), task_id: 't', status: states[id - 1], data: {}, created_at: '2026-01-02T03:04:05Z' };
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
};
const placeIn = ({ headers }: IncomingMessage): number => Number(headers['last-event-id'] ?? 0);

describe('followTask', () => {
  test('shows each state once, wherever a stream is cut, and ends with the last', { tags: ['S3.verbs'] }, async () => {
    const asked: number[] = [];
    const gateway = await gatewayOf((request, response) => {
      const after = placeIn(request);
      asked.push(after);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`retry: 3000\n\n: here\n\n${after > 0 ? frame(after) : ''}${frame(after + 1)}`);
      if (after + 1 < states.length) response.write(frame(after + 2).slice(0, 20), () => response.destroy());
      else response.end(`event: sdk:completed\n${frame(after + 1)}`);
    });
    const seen: string[] = [];
    for await (const { status } of followTask(gateway, 'download', 't')) seen.push(status);
    expect(seen).toEqual(states);
    expect(asked).toEqual([0, 1, 2, 3, 4]);
  });

  test('fails with the code of the gateway when that knows no such task', async () => {
    const gateway = await gatewayOf((_request, response) => {
      response.writeHead(404).end('{"error":"There is no such task","code":"NOT_FOUND"}');
    });
    await expect(followTask(gateway, 'upload', 't').next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('uploadFile', () => {
  test('sends the form as clients do, and asks again where the action is not there yet', async () => {
    const bodies: string[] = [];
    const gateway = await gatewayOf(async (request, response) => {
      bodies.push(await text(request));
      if (bodies.length === 1) response.writeHead(404).end('{"error":"not yet","code":"NOT_FOUND"}');
      else response.writeHead(202).end('{"task_id":"abc","taskId":"abc"}');
    });
    const file = path.join(newFolder(), 'a "b".txt');
    writeFileSync(file, 'twelve bytes');
    let sent = 0;
    const upload = { file, size: 12, actionId: '7', signature: 'c2ln' };
    expect(await uploadFile(gateway, upload, (count) => (sent += count))).toBe('abc');
    expect(sent).toBe(24);
    expect(bodies[1]).toContain('name="file"; filename="a %22b%22.txt"');
    expect(bodies[1]).toContain('\r\n\r\ntwelve bytes\r\n--');
  });

  test('hears a refusal that comes before the file was sent', async () => {
    const gateway = await gatewayOf((_request, response) => {
      response.writeHead(409, { connection: 'close' }).end('{"error":"it is done","code":"CONFLICT"}');
    });
    const file = path.join(newFolder(), 'large.bin');
    writeFileSync(file, Buffer.alloc(8 << 20));
    const upload = { file, size: 8 << 20, actionId: '7', signature: 'c2ln' };
    await expect(uploadFile(gateway, upload, () => undefined)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('it is done') as string,
    });
  });
});

describe('requestDownload', () => {
  test('asks for a public file without a signature, and says what to do where nothing answers', async () => {
    const asked: string[] = [];
    const gateway = await gatewayOf(async (request, response) => {
      asked.push(`${request.url} ${await text(request)}`);
      response.writeHead(202).end('{"task_id":"t"}');
    });
    await requestDownload(gateway, '7');
    await requestDownload(gateway, '7', 'c2ln');
    expect(asked).toEqual([
      '/api/v1/actions/cascade/7/downloads?public=true {}',
      '/api/v1/actions/cascade/7/downloads {"signature":"c2ln"}',
    ]);
    open.splice(0).forEach((close) => close());
    await expect(requestDownload(gateway, '7')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('--gateway') as string,
    });
  });

  test.each([
    ['<html>bad gateway</html>', 502, 'UNAVAILABLE'],
    ['{"error":"signature is required","code":"INVALID_ARGUMENT"}', 400, 'INVALID_ARGUMENT'],
    ['{"task":"?"}', 202, 'UNAVAILABLE'],
  ])('takes %s with status %i as %s', async (body, status, code) => {
    const gateway = await gatewayOf((_request, response) => response.writeHead(status).end(body));
    await expect(requestDownload(gateway, '7')).rejects.toMatchObject({ code });
  });
});

describe('openFile', () => {
  const bytes = randomBytes(900_000);

  /** A gateway that cuts every connection after so many bytes, and now and then does not answer. */
  async function cutting(answers: (asked: number) => number | undefined, etag = '"a"') {
    const ranges: (string | undefined)[] = [];
    const gateway = await gatewayOf(({ headers }, response) => {
      ranges.push(headers.range);
      const limit = answers(ranges.length);
      if (limit === undefined) return response.writeHead(503).end('{"error":"away","code":"UNAVAILABLE"}');
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
      const isRest = from > 0 && headers['if-range'] === etag;
      const rest = bytes.subarray(isRest ? from : 0);
      const about = { 'content-length': rest.length, etag: ranges.length === 1 ? '"a"' : etag };
      const range = { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` };
      response.writeHead(isRest ? 206 : 200, isRest ? { ...about, ...range } : about);
      if (limit >= rest.length) return response.end(rest);
      return response.write(rest.subarray(0, limit), () => response.destroy());
    });
    return { gateway, ranges };
  }

  async function readAll({ gateway }: Readonly<{ gateway: string }>): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await openFile(gateway, 't')).bytes) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  test('takes a file up by ranges wherever its connection is cut', { tags: ['S3.verbs.resume'] }, async () => {
    const under = await cutting((asked) => (asked === 3 ? undefined : 250_000));
    expect((await readAll(under)).equals(bytes)).toBe(true);
    expect(under.ranges[0]).toBeUndefined();
    expect(under.ranges.slice(1)).toEqual(under.ranges.slice(1).map(() => expect.stringMatching(/^bytes=\d+-$/)));
    expect(under.ranges.length).toBeGreaterThan(3);
  });

  test('fails where what is there is another file by now', { tags: ['S3.verbs.resume'] }, async () => {
    await expect(readAll(await cutting(() => 400_000, '"b"'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

test.each([
  [`attachment; filename="a.txt"; filename*=UTF-8''%C3%A4.txt`, 'ä.txt'],
  [`attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`, 'passwd'],
  ['attachment; filename="C:\\x\\y.txt"', 'y.txt'],
  ['attachment; filename=".."', undefined],
  ['attachment', undefined],
])('fileNameIn %s is %s', (disposition, name) => {
  expect(fileNameIn(disposition)).toBe(name);
});
