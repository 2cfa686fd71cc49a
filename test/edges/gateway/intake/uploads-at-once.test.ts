import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import type { CascadeAction } from '../../../../src/edges/chain/files/chain.ts';
import { smallDisk } from '../../../support/programs/small-disk.ts';
import { actionOver, finalize, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { finalized, goodNode, historyOf, type Misdeed, serveNodes, taken } from '../nodes-under-test.ts';
import { leftOvers, signatureOf } from '../uploading.ts';

const mib = 2 ** 20;
/** Of a disk of 40 MiB the last tenth is left free: two of three files of 15 MiB fit, and not half of the third. */
const diskBytes = 40 * mib;
const fileBytes = 15 * mib;
const file = randomBytes(fileBytes);

/** A gateway whose room is a disk or a bound, before a node that takes files once it is let. */
async function start(bound: 'disk' | 'setting') {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const node: Misdeed = () => ({
    async *register(requests) {
      await released;
      await taken(requests);
      yield finalized;
    },
  });
  const nodes = await serveNodes(goodNode(file), [node], (action) => finalize(gateway, action));
  const storers = async () => await Promise.resolve({ nodes, total: 1 });
  const disk = bound === 'disk' ? smallDisk(diskBytes) : undefined;
  const settings = disk ? {} : { transferSpace: diskBytes * 0.9 };
  const gateway: GatewayUnderTest = await gatewayUnderTest({
    chain: { storers },
    settings,
    stallMs: 60_000,
    ...(disk ? { folder: disk.folder } : {}),
  });
  onTestFinished(async () => {
    release();
    await gateway[Symbol.asyncDispose]();
    disk?.remove();
  });
  const actions: CascadeAction[] = [];
  for (const id of ['1', '2', '3']) {
    const action = await actionOver(file, { id });
    gateway.actions.set(id, action);
    actions.push(action);
  }
  return { gateway, actions, release };
}

type Sender = Readonly<{ request: ClientRequest; answer: Promise<Record<string, unknown>>; end: Buffer }>;

function open(url: string, headers: Record<string, string | number>, head: string, end: string): Sender {
  const request = httpRequest(url, { method: 'POST', headers: { ...headers } }).on('error', () => undefined);
  const answer = once(request, 'response').then(async ([response]: IncomingMessage[]) =>
    response ? { status: response.statusCode, ...(JSON.parse(await text(response)) as Record<string, unknown>) } : {},
  );
  request.write(head === '' ? Buffer.alloc(0) : head);
  return { request, answer, end: Buffer.from(end) };
}

function form({ url }: GatewayUnderTest, action: CascadeAction): Sender {
  const field = (name: string, value: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const fields = field('action_id', action.id) + field('signature', signatureOf(action));
  const head = `${fields}--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`;
  const tail = '\r\n--b--\r\n';
  const headers = {
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': head.length + fileBytes + tail.length,
  };
  return open(`${url}/api/v1/actions/cascade`, headers, head, tail);
}

function resumable({ url }: GatewayUnderTest, action: CascadeAction): Sender {
  const headers = {
    'annals-action-id': action.id,
    'annals-signature': signatureOf(action),
    'upload-complete': '?1',
    'content-length': fileBytes,
  };
  return open(`${url}/api/v1/uploads`, headers, '', '');
}

/** Sends a piece of each in turn, so that all of them are under way at once. */
async function sendInTurns(senders: readonly Sender[]): Promise<void> {
  const write = async ({ request, answer }: Sender, bytes: Uint8Array): Promise<void> => {
    const written = new Promise<void>((resolve) => void request.write(bytes, () => resolve()));
    await Promise.race([written, answer]);
  };
  for (let at = 0; at < fileBytes; at += mib)
    for (const sender of senders) await write(sender, file.subarray(at, at + mib));
  for (const { request, end } of senders) request.end(end);
}

it.each([
  { bound: 'disk', kind: 'forms', opens: form },
  { bound: 'setting', kind: 'forms', opens: form },
  { bound: 'disk', kind: 'resumable uploads', opens: resumable },
  { bound: 'setting', kind: 'resumable uploads', opens: resumable },
] as const)(
  'of three $kind at once those are let in that fit the $bound, and they complete',
  { tags: ['S3.limits.fit'] },
  async ({ bound, opens }) => {
    const { gateway, actions, release } = await start(bound);
    const senders = actions.map((action) => opens(gateway, action));
    await sendInTurns(senders);
    const answers = await Promise.all(senders.map(async ({ answer }) => await answer));
    expect(answers.map(({ status }) => Number(status)).toSorted((a, b) => a - b)).toEqual([202, 202, 507]);
    const refusal = answers.find(({ status }) => status === 507);
    expect(refusal).toMatchObject({
      code: 'INSUFFICIENT_STORAGE',
      error: expect.stringMatching(/\d+ bytes are needed, \d+ are free/),
    });
    expect(await leftOvers(gateway)).toEqual([]);
    const tasks = answers.filter(({ status }) => status === 202).map(({ task_id: task }) => String(task));
    for (const task of tasks) expect((await readFile(gateway.files.uploadOf(task))).equals(file)).toBe(true);
    release();
    for (const task of tasks)
      expect((await historyOf(gateway.url, 'uploads', task)).at(-1)?.status).toBe('sdk:completed');
    await expect.poll(async () => await gateway.stored()).toEqual([]);
    const again = refusedOf(answers, actions);
    const sender = opens(gateway, again);
    await sendInTurns([sender]);
    expect((await sender.answer)['status'], 'there is room again').toBe(202);
  },
);

it('resumable uploads in portions hold their room from one to the next', { tags: ['S3.limits.fit'] }, async () => {
  const { gateway, actions } = await start('setting');
  const begin = async (action: CascadeAction) => {
    const headers = {
      'annals-action-id': action.id,
      'annals-signature': signatureOf(action),
      'upload-complete': '?0',
      'upload-length': String(fileBytes),
    };
    const { status, headers: answered } = await fetch(`${gateway.url}/api/v1/uploads`, { method: 'POST', headers });
    return { status, upload: gateway.url + String(answered.get('location')) };
  };
  const begun = [];
  for (const action of actions) begun.push(await begin(action));
  expect(begun.map(({ status }) => status)).toEqual([201, 201, 507]);
  const portion = async (upload: string, at: number): Promise<number> => {
    const isLast = at + 5 * mib === fileBytes;
    const headers = {
      'content-type': 'application/partial-upload',
      'upload-offset': String(at),
      'upload-complete': isLast ? '?1' : '?0',
    };
    const body = file.subarray(at, at + 5 * mib);
    return (await fetch(upload, { method: 'PATCH', headers, body })).status;
  };
  const [first, second] = begun.map(({ upload }) => upload);
  for (const upload of [first ?? '', second ?? '']) expect(await portion(upload, 0)).toBe(204);
  for (const at of [5 * mib, 10 * mib]) expect(await portion(first ?? '', at)).toBe(at === 5 * mib ? 204 : 202);
  await fetch(second ?? '', { method: 'DELETE' });
  const [, , third] = actions;
  expect(third && (await begin(third)).status, 'what was given up holds none').toBe(201);
});

/** The action whose upload was refused. */
function refusedOf(answers: readonly Record<string, unknown>[], actions: readonly CascadeAction[]): CascadeAction {
  const action = actions[answers.findIndex(({ status }) => status === 507)];
  if (!action) throw new Error('None was refused');
  return action;
}
