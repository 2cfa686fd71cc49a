import { strict as assert } from 'node:assert';
import { readdir, utimes } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { framesIn, postJson, type Registered, streamed, upload } from '../../e2e/gateway/gateway-client.ts';
import { type KillWorld, nodePoints, openKillWorld } from './gateway-kill-world.ts';
import { until } from '../polling.ts';
import { type Program, runProgram } from '../programs/run-program.ts';

/** Everything that the gateway is killed at, in the order of an upload and then of a download. */
export const killPoints = [
  'half of the form has come',
  'the upload was answered',
  ...nodePoints.upload,
  ...nodePoints.download,
  'the file is being read',
] as const;

/** One of them. */
export type KillPoint = (typeof killPoints)[number];

/** A gateway to kill, and to look at once it is back. */
export type GatewayKills = Readonly<{
  /** Kills it there, starts it anew and sees that all comes to its right end; says what happened. */
  kill: (point: KillPoint) => Promise<string>;
  close: () => Promise<void>;
}>;

type Options = Readonly<{
  /** The program's folder, which stays the same. */
  dataDir: string;
  network?: string;
  transferDir: string;
  /** Further settings, such as stores that outlive the program. */
  env?: Readonly<Record<string, string>>;
  /** Called whenever the gateway was killed, before it is started anew. */
  onKilled?: () => Promise<void>;
}>;

const dayMs = 86_400_000;

/** Starts a gateway of which nothing but its log and its folder is left whenever it is killed. */
export async function openGatewayKills({
  dataDir,
  network,
  transferDir,
  env,
  onKilled,
}: Options): Promise<GatewayKills> {
  const world = await openKillWorld();
  const start = async (): Promise<Program> => {
    const own = {
      ROLES: 'gateway,projector',
      CHAIN_API_BASE: world.chainUrl,
      TRANSFER_DIR: transferDir,
      NODE_TRANSPORT: 'plain',
      NODE_PORTS: 'registered',
      PROBE_PRIVATE_ADDRESSES: 'allow',
    };
    const program = await runProgram({ dataDir, ...(network && { network }), env: { ...own, ...env } });
    await program.untilReady();
    return program;
  };
  let program = await start();
  const killed: Killed = {
    world,
    transferDir,
    api: () => `${program.instance.urls['gateway'] ?? ''}/api/v1`,
    again: async () => {
      await program.kill();
      await onKilled?.();
      program = await start();
    },
    kill: async () => await program.kill(),
    start: async () => void (program = await start()),
  };
  return {
    kill: async (point) => {
      if (point === 'half of the form has come') await inTheForm(killed);
      else if (point === 'the upload was answered') await inAnUpload(killed, undefined);
      else if (point === 'the file is being read') await inADownload(killed, undefined);
      else if (isOfUploads(point)) await inAnUpload(killed, point);
      else await inADownload(killed, point);
      return `killed when ${point.startsWith('the ') || point.startsWith('half') ? point : `the node ${point}`}`;
    },
    close: async () => {
      await program.stop();
      await world.close();
    },
  };
}

type Killed = Readonly<{
  world: KillWorld;
  transferDir: string;
  /** Where the gateway that runs now answers. */
  api: () => string;
  again: () => Promise<void>;
  kill: () => Promise<void>;
  start: () => Promise<void>;
}>;

type UploadPoint = (typeof nodePoints.upload)[number];
type DownloadPoint = (typeof nodePoints.download)[number];

function isOfUploads(point: UploadPoint | DownloadPoint): point is UploadPoint {
  return nodePoints.upload.some((one) => one === point);
}

/** What came goes an hour later, and the same file is taken. */
async function inTheForm(killed: Killed): Promise<void> {
  const incoming = path.join(killed.transferDir, 'incoming');
  const file = killed.world.newAction('PENDING');
  const sending = request(`${killed.api()}/actions/cascade`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  sending.on('error', () => undefined);
  const field = (name: string, value: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  sending.write(field('action_id', file.action) + field('signature', file.signature));
  sending.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n');
  sending.write(file.bytes.subarray(0, file.bytes.length / 2));
  const [left = ''] = await until('bytes are on the disk', async () => {
    const names = await readdir(incoming);
    return names.length > 0 && names;
  });
  await killed.kill();
  const before = new Date(Date.now() - dayMs);
  await utimes(path.join(incoming, left), before, before);
  await killed.start();
  await until('what came is gone', async () => (await readdir(incoming)).length === 0);
  await wholeEnd(killed, `/actions/cascade/tasks/${await uploaded(killed, file)}`, []);
}

async function inAnUpload(killed: Killed, point: UploadPoint | undefined): Promise<void> {
  const reached = point && killed.world.standStill(point);
  const tasks = `/actions/cascade/tasks/${await uploaded(killed, killed.world.newAction('PENDING'))}`;
  const seen = await readUntilKilled(killed, tasks, reached);
  await wholeEnd(killed, tasks, seen);
  await until('the upload is gone', async () => (await readdir(path.join(killed.transferDir, 'uploads'))).length === 0);
}

async function inADownload(killed: Killed, point: DownloadPoint | undefined): Promise<void> {
  const { action } = killed.world.newAction('DONE');
  const reached = point && killed.world.standStill(point);
  const asked = await postJson(`${killed.api()}/actions/cascade/${action}/downloads?public=true`, {});
  const task = `/downloads/cascade/${String(asked['task_id'])}`;
  const reading = point ? reached : beginToRead(killed, task);
  const seen = await readUntilKilled(killed, task, reading);
  await wholeEnd(killed, task, seen);
  const file = await fetch(`${killed.api()}${task}/file`);
  assert.ok(Buffer.from(await file.arrayBuffer()).equals(killed.world.bytes), 'other bytes are served');
}

async function beginToRead(killed: Killed, task: string): Promise<void> {
  await endedHistory(killed, task);
  const file = await fetch(`${killed.api()}${task}/file`);
  const reader = file.body?.getReader();
  await reader?.read();
  // The kill cuts off what is not read yet.
  reader?.closed.catch(() => undefined);
}

async function uploaded(killed: Killed, file: Registered): Promise<string> {
  const answer = await upload(`${killed.api()}/actions/cascade`, file);
  const body = (await answer.json()) as { task_id?: string };
  assert.equal(answer.status, 202, JSON.stringify(body));
  return body.task_id ?? '';
}

/** Follows a task from its beginning on, kills the gateway, and gives the numbers of the states that came. */
async function readUntilKilled(killed: Killed, task: string, reached: Promise<void> | undefined): Promise<number[]> {
  let text = '';
  const answer = await fetch(`${killed.api()}${task}/status`);
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) text += decoder.decode(part as Uint8Array, { stream: true });
  })().catch(() => undefined);
  await reached;
  await killed.again();
  await reading;
  return numbersIn(text);
}

/** The task ends well, and who reconnects has seen each state once. */
async function wholeEnd(killed: Killed, task: string, seen: readonly number[]): Promise<void> {
  const history = await endedHistory(killed, task);
  assert.equal(history.at(-1)?.status, 'sdk:completed', JSON.stringify(history));
  const whole = history.map((_, at) => at + 1);
  assert.deepEqual(
    history.map(({ id }) => Number(id)),
    whole,
  );
  const after = await streamed(`${killed.api()}${task}/status`, { 'last-event-id': String(seen.at(-1) ?? 0) });
  const then = after.filter(({ name }) => name === undefined).map(({ id }) => Number(id));
  assert.deepEqual([...seen, ...then], whole);
}

async function endedHistory(killed: Killed, task: string): Promise<{ id: string; status: string }[]> {
  return await until('the task has ended', async () => {
    const history = (await (await fetch(`${killed.api()}${task}/history`)).json()) as { id: string; status: string }[];
    return /^sdk:(completed|failed)$/.test(history.at(-1)?.status ?? '') && history;
  });
}

function numbersIn(text: string): number[] {
  return framesIn(text)
    .filter(({ name }) => name === undefined)
    .map(({ id }) => Number(id));
}
