import { expect } from 'vitest';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { sign } from '../../../src/edges/chain/sign/keys.ts';
import { until } from '../../support/polling.ts';
import {
  downloadSignature,
  type Json,
  postJson,
  type Registered,
  registered,
  streamed,
  type Told,
  upload,
} from './gateway-client.ts';

type Task = Readonly<{ id: string; file: Registered }>;

const v1 = '/api/v1';

/** What sdk-js 0.2.3 asks for around an upload: the form, the whole stream as text, the detail. Gives its task. */
export async function expectUploadOfOldClient(gateway: string): Promise<Task> {
  const file = await registered(gateway, 'of 0.2.3.bin');
  const answer = await upload(`${gateway}${v1}/actions/cascade`, file);
  const body = (await answer.json()) as Json;
  expect({ status: answer.status, body }).toEqual({
    status: 202,
    body: { task_id: body['task_id'], taskId: body['task_id'] },
  });
  const id = String(body['task_id']);
  const task = `${gateway}${v1}/actions/cascade/tasks/${id}`;
  const frames = await streamed(`${task}/status`, { accept: '*/*' });
  expect(frames.map(({ event }) => event.id)).toEqual([
    ...frames.slice(1).map((_, at) => String(at + 1)),
    frames.at(-1)?.id,
  ]);
  const [last, once] = [frames.at(-2), frames.at(-1)];
  expect(last).toEqual({ name: undefined, id: String(frames.length - 1), event: once?.event });
  expect(once).toMatchObject({ name: 'sdk:completed', id: last?.id });
  const failures = /failed|failure|unavailable|timeout/;
  expect(frames.map(({ event }) => event.status).filter((status) => failures.test(status))).toEqual([]);
  const detail = (await (await fetch(task)).json()) as Json;
  expect(detail).toMatchObject({
    task_id: id,
    action_id: file.action,
    status: 'sdk:completed',
    file_name: 'upload.bin',
  });
  return { id, file };
}

/** What later clients ask for: the history until its last element is an end, the same as the stream told. */
export async function expectHistory(gateway: string, { id }: Task): Promise<void> {
  const task = `${gateway}${v1}/actions/cascade/tasks/${id}`;
  const history = (await (await fetch(`${task}/history`)).json()) as Told[];
  expect(history.at(-1)?.status).toBe('sdk:completed');
  expect(history).toEqual((await streamed(`${task}/status`)).slice(0, -1).map(({ event }) => event));
  const statuses = history.map(({ status }) => status);
  expect(statuses.indexOf('sdk:processing_started')).toBe(statuses.indexOf('sdk:upload_completed') + 1);
  for (const event of history) expect(Object.keys(event)).toEqual(['id', 'task_id', 'status', 'data', 'created_at']);
  const latest = await fetch(`${task}/status`, { headers: { accept: 'application/json' } });
  expect(await latest.json()).toEqual(history.at(-1));
  const last = await fetch(`${task}/status`, { headers: { 'last-event-id': String(history.length) } });
  expect(last.status).toBe(204);
}

/**
 * What both clients ask for around a download: 0.2.3 with `{}` for its body and by the named event, later ones with a
 * signature and by unnamed events, and by the history under the upload's path.
 */
export async function expectDownloads(gateway: string, { file }: Task): Promise<void> {
  const old = await postJson(`${gateway}${v1}/actions/cascade/${file.action}/downloads`, {});
  expect(old).toEqual({ task_id: old['taskId'], taskId: old['task_id'], httpStatus: 202 });
  const download = `${gateway}${v1}/downloads/cascade/${String(old['taskId'])}`;
  const frames = await streamed(`${download}/status`, { accept: 'text/event-stream' });
  expect(frames.filter(({ name }) => name !== undefined).map(({ name }) => name)).toEqual(['sdk:completed']);
  const fetched = Buffer.from(await (await fetch(`${download}/file`)).arrayBuffer());
  expect(fetched.equals(file.bytes)).toBe(true);

  const signature = await downloadSignature(gateway, file.action);
  const later = await postJson(`${gateway}${v1}/actions/cascade/${file.action}/downloads`, { signature });
  expect(later).toMatchObject({ httpStatus: 202 });
  const underUploads = `${gateway}${v1}/actions/cascade/tasks/${String(later['task_id'])}`;
  const history = await until('the history has its end', async () => {
    const events = (await (await fetch(`${underUploads}/history`)).json()) as Told[];
    return events.at(-1)?.status === 'sdk:completed' && events;
  });
  expect(history[0]?.status).toBe('sdk:started');
  expect(await (await fetch(underUploads)).json()).toMatchObject({ kind: 'download', action_id: file.action });
}

/** Clients of the legacy paths are served by the same handlers, and told where to go. */
export async function expectLegacyPaths(gateway: string): Promise<void> {
  const file = await registered(gateway, 'of a legacy client.bin');
  const answer = await upload(`${gateway}/api/actions/cascade`, file);
  expect(answer.status).toBe(202);
  expect(answer.headers.get('deprecation')).toBe('true');
  expect(answer.headers.get('link')).toBe(`<${v1}/actions/cascade>; rel="successor-version"`);
  const { task_id: id } = (await answer.json()) as Json;
  const frames = await streamed(`${gateway}/api/actions/cascade/tasks/${String(id)}/status`);
  expect(frames.at(-1)?.name).toBe('sdk:completed');
  const same = await fetch(`${gateway}${v1}/actions/cascade/tasks/${String(id)}/history`);
  expect(await same.json()).toEqual(frames.slice(0, -1).map(({ event }) => event));
  const asked = await postJson(`${gateway}/api/actions/cascade/${file.action}/downloads?public=true`, {});
  const download = `${gateway}/api/downloads/cascade/${String(asked['task_id'])}`;
  expect((await streamed(`${download}/status`)).at(-1)?.name).toBe('sdk:completed');
  const fetched = Buffer.from(await (await fetch(`${download}/file`)).arrayBuffer());
  expect(fetched.equals(file.bytes)).toBe(true);
}

/** What is not there is said at once, in one form, on both paths. */
export async function expectRefusals(gateway: string, { file }: Task): Promise<void> {
  const unknown = 'ab'.repeat(16);
  for (const prefix of [v1, '/api'])
    for (const path of [`actions/cascade/tasks/${unknown}/status`, `downloads/cascade/${unknown}/file`, 'nothing']) {
      const answer = await fetch(`${gateway}${prefix}/${path}`);
      expect({ status: answer.status, body: await answer.json() }).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND' },
      });
    }
  const missing = await upload(`${gateway}${v1}/actions/cascade`, { ...file, action: '99999999' });
  expect([missing.status, missing.headers.get('retry-after')]).toEqual([404, '3']);
  const done = await upload(`${gateway}${v1}/actions/cascade`, file);
  expect([done.status, ((await done.json()) as Json)['code']]).toEqual([409, 'CONFLICT']);
}

/** Clients that sign the text itself are heard like wallets; the lists that the Hub asks for name the task. */
export async function expectRawSignature(gateway: string): Promise<void> {
  const file = await registered(gateway, 'of sdk-rs.bin', { isPublic: false });
  const key = developmentAccounts().findLast(({ key: { type } }) => type === 'secp256k1')?.key;
  if (key === undefined) throw new Error('There is no development account');
  const raw = (text: string) => Buffer.from(sign(key, Buffer.from(text)).subarray(0, 64)).toString('base64');
  const detail = await upload(`${gateway}${v1}/actions/cascade`, {
    ...file,
    signature: raw(file.dataHash),
  });
  expect(detail.status).toBe(202);
  const { task_id: id } = (await detail.json()) as Json;
  const body = await (await fetch(`${gateway}${v1}/actions/cascade/tasks/${String(id)}/status`)).text();
  const lastData = body.split('\n').findLast((line) => line.startsWith('data:')) ?? '';
  expect(JSON.parse(lastData.slice(5))).toMatchObject({ status: 'sdk:completed' });
  const { httpStatus, error } = await postJson(`${gateway}${v1}/actions/cascade/${file.action}/downloads`, {});
  expect({ httpStatus, error }).toEqual({ httpStatus: 400, error: 'signature is required' });
  const asked = await postJson(`${gateway}${v1}/actions/cascade/${file.action}/downloads`, {
    signature: raw(file.action),
  });
  expect(asked).toMatchObject({ httpStatus: 202 });
  const listed = await until('the upload is listed', async () => {
    const found = (await (await fetch(`${gateway}${v1}/actions/cascade/${file.action}/tasks`)).json()) as Json;
    return found['count'] === 1 && found;
  });
  expect(listed).toMatchObject({ requests: [{ task_id: id, action_id: file.action, file_size_kbs: 20 }] });
  const downloads = await fetch(`${gateway}${v1}/downloads/cascade/tasks?action_id=${file.action}`);
  expect(await downloads.json()).toEqual({ requests: [], count: 0 });
}
