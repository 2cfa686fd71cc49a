import { checkModel } from '../../../src/engine/archive/models.ts';
import { damagedFiles, inStream, lookInto, type Truth } from './events.ts';
import { bothStoresOf } from '../../../src/engine/archive/archive.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { type StreamName, streams } from '../../../src/events/streams.ts';
import { projections } from '../../../src/projections/all.ts';
import { figuresOf } from '../figures.ts';
import type { Program } from '../programs/run-program.ts';

/**
 * Looks at both stores of a program from outside, and says all that is wrong there; adds to the truth what is new.
 *
 * Every event that was ever seen must be at its place, the archive sound, every read model what the log says.
 */
export async function problemsOf(program: Program, truth: Truth): Promise<string[]> {
  const { nats, network, postgres } = program.instance;
  const nc = await connectNats({ ...nats, name: 'campaign' });
  const pools = createPools(postgres, { applicationName: 'campaign' });
  const stores = bothStoresOf(nc, { network, pools });
  const { signal } = new AbortController();
  const problems: string[] = [];
  const fresh = new Map<string, string>();
  try {
    const { status } = await fetch(`${program.base}/readyz`);
    if (status !== 200) return [`/readyz answers ${status}`];
    for (const stream of streams) {
      problems.push(...(await inStream(stores, stream, { truth, fresh })));
      const { findings, position } = await lookInto(stores, stream, signal);
      problems.push(...findings);
      const seen = Math.max(0, ...[...truth.keys()].map((key) => lastOf(key, stream)));
      if (position < seen) problems.push(`the archive of ${stream} ends at ${position}, not ${seen}`);
    }
    for (const { stream, first, last } of await stores.store.losses())
      problems.push(`${stream} lost ${first} to ${last}`);
    const models = { pools, network, source: createLog(nc, network) };
    for (const projection of projections) {
      const differs = await checkModel(models, projection, signal);
      if (differs !== undefined) problems.push(differs);
    }
    if (problems.length === 0) problems.push(...(await damagedFiles(pools)));
    if (problems.length === 0) for (const [place, content] of fresh) truth.set(place, content);
    return problems;
  } finally {
    await Promise.allSettled([pools.end(), nc.close()]);
  }
}

/** Whether the archive holds at this moment all that the log holds. */
export async function isArchived({ base }: Program): Promise<boolean> {
  const text = await figuresOf(base);
  const figure = (name: string, stream: string): number =>
    Number(new RegExp(`^${name}\\{stream="${stream}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return streams.every(
    (stream) => figure('annals_archive_position', stream) >= figure('annals_stream_last_sequence', stream),
  );
}

function lastOf(key: string, stream: StreamName): number {
  const [name, sequence] = key.split(' ');
  return name === stream ? Number(sequence) : 0;
}
