import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { treeOf } from './tree.ts';

/** Tasks that run or wait for a core, on average: on the machine, and those of them that the bench did not start. */
export type MachineLoad = Readonly<{ all: number; others: number }>;

/** Beside more than this, a figure says something about the machine, and is not judged. */
export const mostOfOthers = 1;

const sampleEveryMs = 1000;

/** What was done, and the load meanwhile, which the system may not report; `moments`: how often it was looked at. */
export type Beside<T> = Readonly<{ result: T; load: MachineLoad | undefined; moments: number }>;

/** Runs work and returns its result with the load meanwhile. */
export async function besideLoad<T>(work: () => Promise<T>): Promise<Beside<T>> {
  const ending = new AbortController();
  const sampled = sampleUntil(ending.signal);
  try {
    const result = await work();
    ending.abort();
    const samples = await sampled;
    return { result, load: meanOf(samples), moments: samples.length };
  } finally {
    ending.abort();
    await sampled;
  }
}

/** The load that a figure was measured beside: one that was there at once was measured with the figure before it. */
export function loadOf(
  { load, moments }: Omit<Beside<unknown>, 'result'>,
  before?: MachineLoad,
): MachineLoad | undefined {
  return moments > 1 ? load : (before ?? load);
}

async function sampleUntil(signal: AbortSignal): Promise<MachineLoad[]> {
  const samples: MachineLoad[] = [];
  do {
    const one = await sample();
    if (!one) return [];
    samples.push(one);
    await pause(sampleEveryMs, undefined, { signal }).catch(() => undefined);
  } while (!signal.aborted);
  return samples;
}

async function sample(): Promise<MachineLoad | undefined> {
  const tree = await treeOf(process.pid);
  const [, running] = /^(?:\S+ ){3}(\d+)\//.exec(await readFile('/proc/loadavg', 'utf8').catch(() => '')) ?? [];
  if (running === undefined) return undefined;
  const own = (await Promise.all(tree.map(({ id }) => runningIn(id)))).reduce((sum, n) => sum + n, 0);
  return { all: Number(running), others: Math.max(Number(running) - own, 0) };
}

/** How many threads of a process run or wait for a core; none of one that has ended. */
async function runningIn(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = threads.map(async (thread) => {
    const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => '');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('R');
  });
  return (await Promise.all(states)).filter(Boolean).length;
}

function meanOf(samples: readonly MachineLoad[]): MachineLoad | undefined {
  if (samples.length === 0) return undefined;
  const mean = (of: (one: MachineLoad) => number): number =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  return { all: mean(({ all }) => all), others: mean(({ others }) => others) };
}
