import { type Amount, type Context, type Group, withContext } from './context.ts';
import { besideLoad, loadOf, type MachineLoad } from './machine-load.ts';
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
      let before: MachineLoad | undefined;
      for (const row of group(context).filter(isWanted)) {
        found = true;
        if (signal.aborted) continue;
        const { report, load } = await measured(row, { signal, say, before });
        reported.push(report);
        before = load;
      }
    });
  }
  if (!found) throw new Error(`There is no row ${only.join(', ')}`);
  return reported;
}

/** The names of the rows that take some twenty minutes. */
export async function longRows(groups: readonly Group[], options: Amount): Promise<string[]> {
  const idle = { ...options, signal: AbortSignal.abort(), say: () => undefined };
  const named = groups.map(async (group) => await withContext(idle, async (context) => group(context)));
  return (await Promise.all(named)).flat().flatMap(({ name, isLong }) => (isLong ? [name] : []));
}

type Measuring = Pick<BenchOptions, 'signal' | 'say'> & Readonly<{ before: MachineLoad | undefined }>;

async function measured(
  row: Row,
  { signal, say, before }: Measuring,
): Promise<{ report: Reported; load: MachineLoad | undefined }> {
  const long = row.isLong ? '; about twenty minutes' : '';
  say(`${row.name} (${row.unit}${row.peerName === null ? '' : `, beside ${row.peerName}`}${long})`);
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    const beside = await besideLoad(() => Promise.race([row.measure(), ended]));
    const load = loadOf(beside, before);
    return { report: reportOf(row, beside.result, load), load };
  } catch (caught) {
    const error = caught instanceof Error ? caught : new Error(String(caught));
    say(`${row.name} failed: ${error.stack}`);
    return { report: reportOf(row, error), load: before };
  }
}
