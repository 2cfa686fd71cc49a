import prettyMs from 'pretty-ms';
import { streams } from '../events/streams.ts';
import { rounds } from '../projections/rounds/rounds.ts';
import { archiveStateOf } from '../engine/archive/observed.ts';
import { configFromEnvironment } from '../config.ts';
import { createReader } from '../engine/models/read/reading.ts';
import { type Stores, withStores } from './stores.ts';
import { addressList } from '../kit/net-address.ts';
import { print, table } from './output.ts';

/** `annals status`: streams, projections, sync and lag of the running instance. */
export async function status({ json }: { json: boolean }): Promise<void> {
  await withStores(configFromEnvironment(), 'status', async (stores) => {
    const seen = await check(stores);
    print(seen, { json, human: () => forPeople(seen) });
  });
}

type Seen = Awaited<ReturnType<typeof check>>;

async function check({ instance, log, pools, network }: Stores) {
  const reader = createReader({ pools, network });
  const [heads, generations, sources, archive] = await Promise.all([
    Promise.all(streams.map(async (stream) => ({ stream, ...(await log.head(stream)) }))),
    reader.generations(),
    reader.read(rounds).catch(() => []),
    archiveStateOf(pools, network)(),
  ]);
  const headOf = new Map(heads.map(({ stream, lastSequence }) => [stream, lastSequence]));
  return {
    network,
    pid: instance.pid,
    started_at: instance.startedAt,
    urls: instance.urls,
    streams: heads,
    projections: generations.map((one) => ({
      ...one,
      behind: Math.max(0, (headOf.get(one.stream) ?? 0) - one.position),
    })),
    archive: archive.standings,
    lost: archive.losses,
    sync: sources,
  };
}

function forPeople(seen: Seen): string {
  const ago = (time: string | null): string =>
    time ? `${prettyMs(Date.now() - Date.parse(time), { compact: true })} ago` : 'never';
  return [
    `Network ${seen.network}, process ${seen.pid}, up since ${seen.started_at}`,
    addressList(seen.urls),
    '',
    table(
      ['STREAM', 'FIRST', 'LAST', 'WRITTEN'],
      seen.streams.map((one) => [
        one.stream,
        one.firstSequence,
        one.lastSequence,
        one.lastSequence > 0 ? ago(one.lastTime) : 'never',
      ]),
    ),
    '',
    table(
      ['PROJECTION', 'STATE', 'GENERATION', 'VERSION', 'POSITION', 'BEHIND'],
      seen.projections.map((one) => [
        one.projection,
        one.stoppedReason ?? (one.pausedAt === null ? one.status : `paused since ${one.pausedAt}`),
        one.generation,
        one.version,
        one.position,
        one.behind,
      ]),
    ),
    '',
    table(
      ['ARCHIVE', 'POSITION', 'COMPARED', 'FOUND', 'MENDED'],
      seen.archive.map((one) => [
        one.stream,
        one.position,
        ago(one.scrubbedAt),
        one.findings.join(' ') || (one.scrubbedAt ? 'sound' : '–'),
        one.repairedAt === null ? 'never' : `${ago(one.repairedAt)}: ${one.repaired.join(' ')}`,
      ]),
    ),
    ...seen.lost.map((one) => `LOST: ${one.stream} ${one.first} to ${one.last}: ${one.reason} ${one.ids.join(', ')}`),
    '',
    table(
      ['SOURCE', 'LAST ROUND', 'HEIGHT', 'REQUESTS', 'FACTS', 'FAILURE SINCE'],
      seen.sync
        .filter(({ source }) => source !== 'chain')
        .map((one) => [
          one.source,
          ago(one.completed_at),
          one.completed_height,
          one.requests,
          one.facts,
          one.failed_message,
        ]),
    ),
  ].join('\n');
}
