import prettyMs from 'pretty-ms';
import { type Overview, readOverview } from '../edges/admin/overview.ts';
import { readHeads } from '../engine/log/head.ts';
import { findInstance, type Instance } from '../engine/servers/instance.ts';
import { findAdmin } from './admin-client.ts';
import { rounds } from '../projections/rounds/rounds.ts';
import { archiveStateOf } from '../engine/archive/observed.ts';
import { configFromEnvironment } from '../config.ts';
import { createReader } from '../engine/models/read/reading.ts';
import { type Stores, withStores } from './stores.ts';
import { addressList } from '../kit/net-address.ts';
import { print, table } from './output.ts';

/** `annals status`: streams, projections, sync and lag of the running instance, as that itself reports them. */
export async function status({ json }: { json: boolean }): Promise<void> {
  const config = configFromEnvironment();
  const instance = await findInstance(config);
  const admin = await findAdmin(instance, config);
  const overview = admin
    ? ((await admin.get('/admin/v1/status')) as Overview)
    : await withStores(config, 'status', readStores);
  const { network, pid, startedAt, urls } = instance;
  const seen = { network, pid, started_at: startedAt, urls, ...overview };
  print(seen, { json, human: () => forPeople(seen) });
}

type Seen = Pick<Instance, 'network' | 'pid' | 'urls'> & Readonly<{ started_at: string }> & Overview;

/** For an instance that answers no administration. */
async function readStores({ connection, pools, network }: Stores): Promise<Overview> {
  const reader = createReader({ pools, network });
  return await readOverview({
    heads: () => readHeads(connection, network),
    generations: reader.generations,
    rounds: () => reader.read(rounds),
    archive: archiveStateOf(pools, network),
  });
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
