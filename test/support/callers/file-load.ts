import { setTimeout as pause } from 'node:timers/promises';
import { framesIn, postJson, type Registered, registered, upload } from '../../e2e/gateway/gateway-client.ts';
import { until } from '../polling.ts';

/** Files that are uploaded and fetched back without end, and what is judged of them. */
export type FileLoad = Readonly<{
  /** The actions whose upload was answered 202. */
  acknowledged: ReadonlySet<string>;
  /** The actions whose file was fetched back whole. */
  fetched: ReadonlySet<string>;
  /** Rejects as soon as something is wrong that no store's absence excuses; never resolves. */
  failed: Promise<never>;
  /** Ends the load; fails unless each acknowledged upload is completed and its file comes back byte for byte. */
  judge: () => Promise<number>;
  end: () => void;
}>;

const withinMs = 180_000;
const askAgainMs = 100;
const fileBytes = 40_000;

/** Moves one file after the other through a local network's gateway; each request is repeated until it is answered. */
export function startFiles(gateway: string): FileLoad {
  const api = `${gateway}/api/v1`;
  const ending = new AbortController();
  const acknowledged = new Set<string>();
  const fetched = new Set<string>();

  const move = async (index: number): Promise<void> => {
    const name = `load ${index}`;
    const file = await until(
      `${name} is registered`,
      () => unlessAway(registered(gateway, name, { size: fileBytes })),
      withinMs,
    );
    const task = await until(`${name} is uploaded`, () => uploaded(api, file), withinMs);
    if (task !== 'done') {
      acknowledged.add(file.action);
      await untilCompleted(`${api}/actions/cascade/tasks/${task}/status`);
    }
    await until(`${name} comes back`, () => unlessAway(isWhole(api, file)), withinMs);
    fetched.add(file.action);
  };
  const moving = (async () => {
    for (let index = 0; !ending.signal.aborted; index += 1) await move(index);
  })();
  const failed = moving.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return {
    acknowledged,
    fetched,
    failed,
    judge: async () => {
      ending.abort();
      await moving;
      for (const action of acknowledged)
        if (!fetched.has(action)) throw new Error(`Action ${action} was acknowledged and never came back`);
      return acknowledged.size;
    },
    end: () => ending.abort(),
  };
}

/** What a request gives; undefined where it failed, as requests may while a store is away. */
async function unlessAway<T>(work: Promise<T>): Promise<T | undefined> {
  const given = await work.catch(() => undefined);
  if (given === undefined) await pause(askAgainMs);
  return given;
}

/** The task that was answered; 'done' where an earlier answer was lost and its action is finalized since. */
async function uploaded(api: string, file: Registered): Promise<string | undefined> {
  const answer = await upload(`${api}/actions/cascade`, file);
  const body = (await answer.json()) as Readonly<{ task_id?: string }>;
  if (answer.status === 202) return body.task_id;
  const text = JSON.stringify(body);
  if (answer.status === 409 && text.includes('ACTION_STATE_DONE')) return 'done';
  await pause(askAgainMs);
  throw new Error(`An upload was answered ${answer.status}: ${text}`);
}

/** Reads a task's states until it has ended. Fails where it ended otherwise than completed. */
async function untilCompleted(url: string): Promise<void> {
  const last = await until(
    `the task at ${url} ends`,
    async () => {
      const text = await unlessAway(fetch(url).then(async (answer) => (answer.ok ? await answer.text() : undefined)));
      const states = framesIn(text ?? '').filter(({ name }) => name === undefined);
      return states.map(({ event }) => event).find(({ status }) => /^sdk:(completed|failed)$/.test(status));
    },
    withinMs,
  );
  if (last.status !== 'sdk:completed') throw new Error(`The task at ${url} failed: ${JSON.stringify(last.data)}`);
}

/** Downloads a file; undefined where the download did not come to its end. Fails where other bytes came. */
async function isWhole(api: string, { action, bytes }: Registered): Promise<true | undefined> {
  const asked = await postJson(`${api}/actions/cascade/${action}/downloads?public=true`, {});
  if (asked.httpStatus !== 202) return undefined;
  const task = `${api}/downloads/cascade/${String(asked['task_id'])}`;
  const states = framesIn(await (await fetch(`${task}/status`)).text());
  if (states.at(-1)?.event.status !== 'sdk:completed') return undefined;
  const file = await fetch(`${task}/file`);
  if (file.status !== 200) return undefined;
  return Buffer.from(await file.arrayBuffer()).equals(bytes) ? true : undefined;
}
