import { Presets, SingleBar } from 'cli-progress';
import type { StreamName } from '../events/streams.ts';
import { isDamaged, type ScrubReport, sentences } from '../engine/archive/states.ts';
import { type Repairable, repairStream } from '../engine/archive/repair.ts';
import { scrub as scrubStream } from '../engine/archive/scrub.ts';
import { archivedStreams, bothStoresOf } from '../engine/archive/archive.ts';
import { configFromEnvironment } from '../config.ts';
import { dataFolder } from '../engine/servers/instance.ts';
import type { Log } from '../engine/log/log.ts';
import { findAdmin, recorded } from './admin-client.ts';
import { withStores } from './stores.ts';
import { print, table } from './output.ts';

type Seen = Readonly<{ report: ScrubReport; done: readonly string[] }>;
type Options = Readonly<{ signal: AbortSignal; onProgress: (done: number, total: number) => void }>;
type Auditing = Repairable & Readonly<{ log: Log }>;
type Examine = (stores: Auditing, stream: StreamName, options: Options) => Promise<Seen>;

/**
 * `annals scrub`: compares every event of the log with the archive, and the archive's chain with itself; changes
 * nothing. Exit status 1 when something is damaged.
 */
export async function scrub({ json }: { json: boolean }): Promise<void> {
  await each('scrub', { json, act: 'scrub' }, async (stores, stream, options) => ({
    report: await scrubStream(stores, stream, options),
    done: [],
  }));
}

/**
 * `annals repair`: brings each store forward from the other, and reports what neither has; with `dryRun` it only reads.
 *
 * Exit status 1 when damage remains.
 */
export async function repair({ json, dryRun = false }: { json: boolean; dryRun?: boolean }): Promise<void> {
  await each('repair', { json, act: dryRun ? 'scrub' : 'repair' }, (stores, stream, options) =>
    repairStream(stores, stream, { ...options, isDryRun: dryRun }),
  );
}

/**
 * Goes through all streams, one after the other, and prints what was seen, at last what is lost; exit status 1 where
 * damage is left.
 */
async function each(
  verb: string,
  { json, act }: Readonly<{ json: boolean; act: 'scrub' | 'repair' }>,
  examine: Examine,
): Promise<void> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const config = configFromEnvironment();
  await withStores(config, verb, async ({ instance, connection: nc, network, pools, log }) => {
    const admin = await findAdmin(instance, config);
    const stores = {
      ...bothStoresOf(nc, { network, pools }),
      source: log,
      log,
      folder: dataFolder({ ...config, network }),
    };
    for (const stream of recordsFirst(archivedStreams(stores))) {
      const bar = json || !process.stderr.isTTY ? undefined : progressBar(stream);
      const onProgress = (done: number, total: number): void => {
        bar?.setTotal(Math.max(total, done));
        bar?.update(done);
      };
      const seen = await recorded(
        admin,
        { act, target: stream },
        { signal: stop.signal, work: (signal) => examine(stores, stream, { signal, onProgress }), summary },
      ).finally(() => bar?.stop());
      if (isDamaged(seen.report) && seen.done.length === 0) process.exitCode = 1;
      const last = await log.head(stream).then(
        ({ lastSequence }) => lastSequence,
        () => null,
      );
      printSeen({ ...seen, last }, json);
    }
    const lost = await stores.store.losses();
    if (lost.length > 0) print({ lost }, { json, human: () => lossTable(lost) });
  });
}

/** The stream that records what is done to the others: each of them would wait for it. */
const recordsFirst = (streams: readonly StreamName[]): StreamName[] =>
  streams.toSorted((a, b) => Number(b === 'OPS') - Number(a === 'OPS'));

const mostSentences = 50;

/** What the log keeps of it. */
function summary({ report, done }: Seen): object {
  const { events, position } = report;
  const findings = sentences(report).slice(0, mostSentences);
  return { events, position, damaged: isDamaged(report), findings, done: done.slice(0, mostSentences) };
}

/** `last` is where the stream ends; null where there is none. */
function printSeen({ report, done, last }: Seen & { last: number | null }, json: boolean): void {
  const damaged = isDamaged(report);
  const findings = sentences(report);
  const { stream, events, position } = report;
  const head = `${stream}: ${events} events compared, archived to ${position} of ${last ?? 'none'}: ${damaged ? 'damaged' : 'sound'}`;
  print(
    { ...report, last, damaged, findings, done },
    { json, human: () => [head, ...[...findings, ...done].map((one) => `  ${one}`)].join('\n') },
  );
}

function lossTable(
  losses: readonly Readonly<{ stream: string; first: number; last: number; reason: string }>[],
): string {
  return table(
    ['LOST', 'FROM', 'TO', 'WHY'],
    losses.map(({ stream, first, last, reason }) => [stream, first, last, reason]),
  );
}

function progressBar(name: string): SingleBar {
  const bar = new SingleBar(
    {
      format: `${name.padEnd(14)} {bar} {percentage}% {value}/{total} events`,
      hideCursor: true,
      stream: process.stderr,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  bar.start(1, 0);
  return bar;
}
