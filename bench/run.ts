import { type Amount, type Context, type Group, withContext } from './context.ts';
import { besideLoad } from './machine-load.ts';
import { type Reported, reportOf, type Row } from './row.ts';

/** Which rows are measured, how, and who hears of it. `only` holds names, or what names begin with; empty: all. */
export type BenchOptions = Amount & Pick<Context, 'signal' | 'say'> & Readonly<{ only: readonly string[] }>;

/**
 * Measures the rows of all groups, one after the other, each group on servers of its own.
 *
 * A row that fails is reported without figures and does not keep others from being measured. Fails when `only` names
 * nothing.
 */
export async function runBench(groups: readonly Group[], options: BenchOptions): Promise<Reported[]> {
  const { only, signal, say } = options;
  const isWanted = ({ name }: Row): boolean =>
    only.length === 0 || only.some((one) => name === one || name.startsWith(`${one}-`));
  const reported: Reported[] = [];
  let found = false;
  for (const group of groups) {
    await withContext(options, async (context) => {
      for (const row of group(context).filter(isWanted)) {
        found = true;
        if (!signal.aborted) reported.push(await measured(row, signal, say));
      }
    });
  }
  if (!found) throw new Error(`There is no row ${only.join(', ')}`);
  return reported;
}

async function measured(row: Row, signal: AbortSignal, say: BenchOptions['say']): Promise<Reported> {
  say(`${row.name} (${row.unit}${row.peerName === null ? '' : `, beside ${row.peerName}`})`);
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    const { result, load } = await besideLoad(() => Promise.race([row.measure(), ended]));
    return reportOf(row, result, load);
  } catch (caught) {
    const error = caught instanceof Error ? caught : new Error(String(caught));
    say(`${row.name} failed: ${error.stack}`);
    return reportOf(row, error);
  }
}
