import { hash } from 'node:crypto';
import { readRaw, streamInfo } from '../../../src/engine/archive/chain.ts';
import { sentences } from '../../../src/engine/archive/states.ts';
import { checkDatabase } from '../../../src/engine/archive/database.ts';
import { scrub } from '../../../src/engine/archive/scrub.ts';
import { type Pools, withClient } from '../../../src/engine/models/pool.ts';
import type { StreamName } from '../../../src/events/streams.ts';

/** Every event that was ever seen, by stream and sequence, as a hash of its subject and bytes. */
export type Truth = Map<string, string>;

type Stores = Parameters<typeof readRaw>[0];
type Known = Readonly<{ truth: ReadonlyMap<string, string>; fresh: Map<string, string> }>;

/** Which events of a stream are not as they were; adds those that are there to `fresh`. */
export async function inStream(stores: Stores, stream: StreamName, { truth, fresh }: Known): Promise<string[]> {
  const info = await streamInfo(stores, stream);
  if (!info) return [`the broker has no stream ${stream}`];
  const found = new Map<string, string>();
  for await (const events of readRaw(stores, stream, { after: 0, upTo: info.state.last_seq }))
    for (const { sequence, subject, body } of events)
      found.set(`${stream} ${sequence}`, hash('sha256', Buffer.concat([Buffer.from(subject), body])));
  const wrong = [...truth].filter(([place, content]) => place.startsWith(`${stream} `) && found.get(place) !== content);
  for (const [place, content] of found) fresh.set(place, content);
  return wrong.length > 0
    ? [
        `${wrong.length} events are not as they were: ${wrong
          .slice(0, 5)
          .map(([place]) => place)
          .join(', ')}`,
      ]
    : [];
}

/** What the database itself finds wrong with its files, once all that it holds in memory is written; in words. */
export async function damagedFiles(pools: Pools): Promise<readonly string[]> {
  await withClient(pools.bulk, (client) => client.query('checkpoint'));
  return (await checkDatabase(pools, new AbortController().signal)).findings;
}

/** What the comparison with the archive says, and how far that goes. */
export async function lookInto(
  stores: Parameters<typeof scrub>[0],
  stream: StreamName,
  signal: AbortSignal,
): Promise<{ findings: string[]; position: number }> {
  const report = await scrub(stores, stream, { signal });
  return { findings: sentences(report), position: report.position };
}
