import { withClient } from '../../src/engine/models/pool.ts';
import { metaSchema } from '../../src/engine/models/engine/generations.ts';
import type { Context } from '../context.ts';
import type { Database } from '../database.ts';
import { resultOf } from '../programs.ts';
import { median, percentile } from '../rounds.ts';
import type { Figures } from '../row.ts';
import type { PastLoad, PastTimes } from './as-of.ts';

/** How many bytes an archived event has, about as many as an action's. */
const eventBytes = 300;
const hashBytes = 32;
const firstNanos = Date.UTC(2021, 0, 1) * 1e6;
/** The log reaches over five years and a half from then, however long it is, as on a slider. */
const spanNanos = 173e15;

/**
 * Archives events of every stream up to where the read models have followed it, over some years, so that instants are
 * found as they are over a log. Returns the last sequence of actions.
 */
export async function archiveLoad({ pools, network }: Database): Promise<number> {
  const meta = metaSchema(network);
  const ends = `select stream, max(position) as last from ${meta}.generations where status = 'live' group by stream`;
  return await withClient(pools.bulk, async (client) => {
    await client.query(`
      insert into ${meta}.archive (stream, sequence, subject, id, stored_nanos, body, previous, hash)
      select stream, sequence, lower(stream), stream || '-' || sequence,
        ${firstNanos} + sequence * (${spanNanos}::int8 / streams.last), convert_to(repeat('x', ${eventBytes}), 'UTF8'),
        convert_to(repeat('p', ${hashBytes}), 'UTF8'), convert_to(repeat('h', ${hashBytes}), 'UTF8')
      from (${ends}) streams cross join lateral generate_series(1, streams.last) sequence on conflict do nothing`);
    await client.query(`vacuum analyze ${meta}.archive`);
    const { rows } = await client.query<{ last: number }>(`${ends} having stream = 'ACTIONS'`);
    return Number(rows[0]?.last);
  });
}

/** Pages of actions as of positions beside the same pages of now: the middle ones, and the slowest page's p99. */
export type PastPages = Readonly<{ middle: Figures; slowest: Figures }>;

/** Asks for pages of now and of the past in turn; ratios are those of each round and page. */
export async function pagesOfPast(context: Context, load: Omit<PastLoad, 'rounds' | 'count'>): Promise<PastPages> {
  const asking: PastLoad = { ...load, rounds: context.rounds, count: context.size(40, 5) };
  const rounds = await resultOf<PastTimes[][]>(context, 'reads/as-of.ts', [JSON.stringify(asking)]);
  const pages = [...Map.groupBy(rounds.flat(), ({ name }) => name)].map(([name, times]) => ({
    name,
    head: median(times.map(({ head }) => head)),
    past: median(times.map(({ past }) => past)),
    ratio: median(times.map(({ head, past }) => head / past)),
    any: percentile(
      times.flatMap(({ any }) => any),
      99,
    ),
    near: percentile(
      times.flatMap(({ near }) => near),
      99,
    ),
  }));
  for (const { name, head, past, ratio, any, near } of pages)
    context.say(
      `  ${name.padEnd(46)} p50 at the head ${shown(head)}, past ${shown(past)}, ratio ${shown(ratio)}; p99 past ${shown(any)}, near the head ${shown(near)}`,
    );
  const [worst] = pages.toSorted((a, b) => a.ratio - b.ratio);
  const [slowest] = pages.toSorted((a, b) => b.any - a.any);
  const middle = (of: (page: (typeof pages)[number]) => number): number => median(pages.map(of));
  return {
    middle: {
      ours: middle(({ past }) => past),
      peer: middle(({ head }) => head),
      ratio: middle(({ ratio }) => ratio),
      note: `least ratio: ${worst?.ratio.toFixed(2)}, ${worst?.name}`,
    },
    slowest: { ours: slowest?.any ?? Infinity, peer: null, ratio: null, note: `slowest: ${slowest?.name}` },
  };
}

const shown = (figure: number): string => figure.toFixed(2).padStart(6);
