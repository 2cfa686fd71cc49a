import { Presets, SingleBar } from 'cli-progress';
import { type StreamName, streams } from '../../events/catalogue.ts';
import { isDamaged, type ScrubReport, sentences } from '../archive/damage.ts';
import { repairStream } from '../archive/repair.ts';
import { scrub as scrubStream } from '../archive/scrub.ts';
import { createArchiveStore } from '../archive/store.ts';
import { configFromEnvironment } from '../config.ts';
import { withStores } from '../stores.ts';
import { print, table } from './output.ts';

type Seen = Readonly<{ report: ScrubReport; done: readonly string[] }>;
type Look = (
  stream: StreamName,
  options: Readonly<{ signal: AbortSignal; onProgress: (done: number, total: number) => void }>,
) => Promise<Seen>;

/** `annals scrub`: compares every event of the log with the archive, and the archive's chain with itself; changes nothing. Exit status 1 when something is damaged. */
export async function scrub({ json }: { json: boolean }): Promise<void> {
  await withStores(configFromEnvironment(), 'scrub', async ({ connection: nc, network, pools }) => {
    const stores = { nc, network, store: createArchiveStore(pools, network) };
    const seen = await each({ json }, async (stream, options) => ({
      report: await scrubStream(stores, stream, options),
      done: [],
    }));
    if (seen.some(({ report }) => isDamaged(report))) process.exitCode = 1;
  });
}

/** `annals repair`: brings each store forward from the other, and says what neither has; with `dryRun` it only looks. */
export async function repair({ json, dryRun = false }: { json: boolean; dryRun?: boolean }): Promise<void> {
  await withStores(configFromEnvironment(), 'repair', async ({ connection: nc, network, pools, log }) => {
    const stores = { nc, network, store: createArchiveStore(pools, network), source: log };
    await each({ json }, (stream, options) => repairStream(stores, stream, { ...options, isDryRun: dryRun }));
    const losses = await stores.store.losses();
    if (losses.length > 0) print({ lost: losses }, { json, human: () => lossTable(losses) });
  });
}

/** Goes through all streams, one after the other, and prints what was seen. */
async function each({ json }: { json: boolean }, look: Look): Promise<Seen[]> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const all: Seen[] = [];
  for (const stream of streams) {
    const bar = json || !process.stderr.isTTY ? undefined : progressBar(stream);
    const seen = await look(stream, {
      signal: stop.signal,
      onProgress: (done, total) => {
        bar?.setTotal(Math.max(total, done));
        bar?.update(done);
      },
    });
    bar?.stop();
    all.push(seen);
    const { foreign, ...report } = seen.report;
    const findings = sentences(seen.report);
    print(
      { ...report, foreign: foreign.length, damaged: isDamaged(seen.report), findings, done: seen.done },
      { json, human: () => inWords(seen, findings) },
    );
  }
  return all;
}

function inWords({ report, done }: Seen, findings: readonly string[]): string {
  const { stream, events, position } = report;
  const head = `${stream}: ${events} events compared, archived to ${position}: ${isDamaged(report) ? 'damaged' : 'sound'}`;
  return [head, ...findings.map((one) => `  ${one}`), ...done.map((one) => `  ${one}`)].join('\n');
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
