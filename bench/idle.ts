import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const ticksASecond = 100;

/** Per cent of one core that a process takes in so many milliseconds in which nobody asks anything of it. */
export async function idlePercent(pid: number, forMs: number, signal: AbortSignal): Promise<number> {
  const [before, began] = [await ticksOf(pid), performance.now()];
  await pause(forMs, undefined, { signal });
  const seconds = (performance.now() - began) / 1000;
  return (100 * ((await ticksOf(pid)) - before)) / ticksASecond / seconds;
}

/** Time of the processor that a process has had, in user and in kernel mode. */
async function ticksOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may hold anything.
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(words[11]) + Number(words[12]);
}
