import { once } from 'node:events';
import type { Context } from '../context.ts';
import type { Figures } from '../row.ts';
import type { Load } from './load.ts';
import type { Times } from './open-loop.ts';
import { startProgram } from './start-program.ts';
import type { Size } from './world.ts';

const perSecond = 500;

/** The p99 of the read that has the longest, in milliseconds, over a minute and a half of all of them. */
export async function slowestOf(
  context: Context,
  { url, size, seed }: { url: string; size: Size; seed: number },
): Promise<Figures> {
  const load: Load = {
    url,
    size,
    seed,
    perSecond,
    warmUpSeconds: context.size(20, 1),
    seconds: context.size(90, 2),
  };
  const program = startProgram(context, 'load.ts', [JSON.stringify(load)]);
  const [times] = (await Promise.race([
    once(program, 'message', { signal: context.signal }),
    once(program, 'exit'),
  ])) as [unknown];
  if (!Array.isArray(times)) throw new Error('The load ended before all had been asked');
  program.kill();
  return told(context, times as Times[]);
}

function told(context: Context, times: readonly Times[]): Figures {
  for (const { name, count, failed, p50, p99 } of times)
    context.say(
      `  ${name.padEnd(46)} ${String(count).padStart(6)} p50 ${p50.toFixed(1).padStart(7)} p99 ${p99.toFixed(1).padStart(7)}${failed > 0 ? ` FAILED ${failed}` : ''}`,
    );
  const slowest = times.toSorted((a, b) => b.p99 - a.p99)[0];
  const failed = times.reduce((sum, one) => sum + one.failed, 0);
  if (failed > 0) throw new Error(`${failed} reads failed`);
  return { ours: slowest?.p99 ?? Infinity, peer: null, ratio: null, note: `slowest: ${slowest?.name ?? 'none'}` };
}
