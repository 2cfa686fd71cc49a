import { setTimeout as pause } from 'node:timers/promises';
import { childOf } from '../../test/support/programs/child-of.ts';
import { type Program, runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import { type Context, once } from '../context.ts';
import { residentMib } from '../files/gateway-apart.ts';
import { ended, historyUrl, moveOne, registerOne, uploadOne } from '../files/gateway-transfers.ts';
import { collecting, openReaders, type Reader, leastMib } from '../files/readers.ts';
import type { Row } from '../row.ts';

const mib = 2 ** 20;
const sampleEachMs = 100;
/** More than a socket on loopback holds, so that the transfer is under way for a while. */
const stalledBytes = 256 * mib;

/** Many at the gateway at once: uploads, and readers of a task that goes on. */
export function rows(context: Context): readonly Row[] {
  const program = once(() => start(context));
  const row = (name: string, unit: string, most: number, measure: () => Promise<number>): Row => ({
    name,
    unit,
    better: 'lower',
    peerName: null,
    target: { ours: most },
    measure: async () => ({ ours: await measure(), peer: null, ratio: null }),
  });
  return [
    row('gateway-uploads-at-once', 'MiB', 300, async () => await uploadMany(context, await program())),
    row('gateway-readers', 'KiB each', 12, async () => await readMany(context, await program())),
  ];
}

async function start(context: Context): Promise<Program> {
  const env = {
    LOCAL_SUBNET: '127.77.8',
    LOCAL_OUTAGES: 'off',
    RATE_LIMIT: 'off',
    UPLOADS_MAX_PER_ADDRESS: '100',
    SSE_MAX: '10000',
    SSE_MAX_PER_ADDRESS: '10000',
    NODE_STALL_TIMEOUT: '1h',
  };
  const nodeArguments = [...lean, ...collecting];
  const program = await runProgram({ dataDir: await context.folder('gateway-many'), env, nodeArguments });
  context.defer(program.stop);
  await program.untilReady();
  await moveOne(program.instance.urls, 4 * mib);
  return program;
}

/** Growth while files of 20 MB come at once, until all are stored. */
async function uploadMany(context: Context, { instance: { pid, urls } }: Program): Promise<number> {
  const [count, size] = [context.size(50, 5), context.size(20_000_000, 1_000_000)];
  const { gateway = '' } = urls;
  const files = [];
  for (let at = 0; at < count; at += 1) files.push(await registerOne(urls, size + at));
  const before = await residentMib(pid);
  let most = before;
  const sampling = setInterval(() => void residentMib(pid).then((now) => (most = Math.max(most, now))), sampleEachMs);
  try {
    const tasks = await Promise.all(files.map(async (file, at) => await uploadOne(gateway, file, size + at)));
    for (const task of tasks) await ended(historyUrl(gateway, task));
  } finally {
    clearInterval(sampling);
  }
  context.say(`${count} uploads: ${Math.round(before)} MiB before, ${Math.round(most)} MiB at most`);
  return most - before;
}

/**
 * What one more reader of a task costs beside as many others, garbage aside, while nothing happens: the SuperNodes
 * stand still, and so does the upload. In the end they go on, and each reader must have seen each state once.
 *
 * The first ones cost what the program had over from its start, in one run 8 KiB each and in another 20.
 */
async function readMany(context: Context, { instance: { pid, urls } }: Program): Promise<number> {
  const { gateway = '' } = urls;
  const readers = context.size(5_000, 50);
  const task = await uploadOne(gateway, await registerOne(urls, stalledBytes), stalledBytes);
  await ended(historyUrl(gateway, task), 'sdk:upload_started');
  const nodes = await childOf(pid, 'nodes/process.ts');
  if (nodes === undefined) throw new Error('The program has no process of nodes');
  process.kill(nodes, 'SIGSTOP');
  const open: Reader[] = [];
  const url = `${gateway}/api/v1/actions/cascade/tasks/${task}/status`;
  const openMore = async (count: number) => await openReaders(open, count, { url, begin: 'sdk:upload_started' });
  try {
    await openMore(readers - 100);
    const before = await leastMib(pid);
    await openMore(readers);
    const after = await leastMib(pid);
    context.say(`${readers} readers: ${Math.round(before)} MiB before, ${Math.round(after)} MiB with them`);
    process.kill(nodes, 'SIGCONT');
    await ended(historyUrl(gateway, task));
    await checkAll(open);
    return ((after - before) * 1024) / readers;
  } finally {
    process.kill(nodes, 'SIGCONT');
    for (const { socket } of open) socket.destroy();
  }
}

async function checkAll(open: readonly Reader[]): Promise<void> {
  for (const { socket, text } of open) {
    while (!text().includes('event: sdk:completed')) {
      if (socket.destroyed) throw new Error('A reader was cut off before the end');
      await pause(sampleEachMs);
    }
    const ids = [...text().matchAll(/^id: (\d+)\n(?!event)/gm)].map(([, id]) => Number(id));
    if (ids.some((id, at) => id !== at + 1)) throw new Error(`A reader saw ${ids.join(' ')}`);
  }
}
