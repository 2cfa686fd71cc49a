import type { Context } from '../context.ts';
import { resultOf } from '../programs.ts';
import { median } from '../rounds.ts';
import type { Figures } from '../row.ts';
import type { Load } from './load.ts';
import type { Times } from './open-loop.ts';
import type { Size } from './world.ts';

const perSecond = 500;

/** The reads of one round. */
type Round = readonly Times[];

/**
 * The p99 of the read that has the longest, in milliseconds: of each read the median of its rounds, three minutes
 * together.
 *
 * `bare` answers everything with next to nothing, in turn: what the machine itself costs.
 */
export async function slowestOf(
  context: Context,
  { url, bare, size, seed }: { url: string; bare?: string; size: Size; seed: number },
): Promise<Figures> {
  const { rounds } = context;
  const urls = [url, ...(bare === undefined ? [] : [bare])];
  const warmUpSeconds = context.size(20, 1);
  const load: Load = { urls, size, seed, perSecond, warmUpSeconds, rounds, seconds: context.size(180, 2) / rounds };
  const asked = await resultOf<readonly (readonly Round[])[]>(context, 'reads/load.ts', [JSON.stringify(load)]);
  const [ours = [], others] = asked;
  const slowest = slowestIn(told(context, ours));
  const figures = { ours: slowest.p99, note: `slowest: ${slowest.name}` };
  if (!others) return { ...figures, peer: null, ratio: null };
  const ratios = ours.map((round, place) => slowestIn(others[place] ?? []).p99 / slowestIn(round).p99);
  return { ...figures, peer: slowestIn(overAll(others)).p99, ratio: median(ratios) };
}

function told(context: Context, rounds: readonly Round[]): Round {
  const times = overAll(rounds);
  for (const { name, count, failed, p50, p99 } of times)
    context.say(
      `  ${name.padEnd(46)} ${String(count).padStart(6)} p50 ${p50.toFixed(1).padStart(7)} p99 ${p99.toFixed(1).padStart(7)}${failed > 0 ? ` FAILED ${failed}` : ''}`,
    );
  const failed = sum(times.map((one) => one.failed));
  if (failed > 0) throw new Error(`${failed} reads failed`);
  return times;
}

/** Each read over all rounds: how many, and the medians of what each round says. */
function overAll(rounds: readonly Round[]): Round {
  return [...Map.groupBy(rounds.flat(), ({ name }) => name)].map(([name, all]) => ({
    name,
    count: sum(all.map((one) => one.count)),
    failed: sum(all.map((one) => one.failed)),
    p50: median(all.map((one) => one.p50)),
    p99: median(all.map((one) => one.p99)),
  }));
}

const none: Pick<Times, 'name' | 'p99'> = { name: 'none', p99: Infinity };
const slowestIn = (round: Round): Pick<Times, 'name' | 'p99'> => round.toSorted((a, b) => b.p99 - a.p99)[0] ?? none;
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
