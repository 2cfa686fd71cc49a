import { setTimeout as pause } from 'node:timers/promises';
import { availability } from '../../src/projections/fleet/availability.ts';
import { createReader } from '../../src/engine/models/read/reading.ts';
import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import { once, type Context } from '../context.ts';
import { openDatabase, startProjector } from '../database.ts';
import { connectTo, freshLog, probeOf } from '../log.ts';
import { type Contender, median, percentile } from '../rounds.ts';
import type { Row } from '../row.ts';
import { openEmmett } from '../systems.ts';
import * as logReaders from './log-readers.ts';

const pollMs = 2;

/**
 * From the start of an append until its row can be read, on a broker that writes to disk before it acknowledges; and
 * what those cost who follow a log.
 */
export function rows(context: Context): readonly Row[] {
  const delays: number[] = [];
  const measured = once(async () => context.inTurn('lower', await ours(context, delays), () => emmett(context)));
  const shape = { unit: 'ms', better: 'lower', peerName: 'emmett-postgresql 0.42.0, its consumer' } as const;
  return [
    { ...shape, name: 'visible-p50', target: { ours: 15 }, measure: measured },
    {
      ...shape,
      name: 'visible-p99',
      target: { ours: 120 },
      measure: async () => {
        const { note } = await measured();
        const figure = percentile(delays, 99);
        if (note !== undefined) return { ours: figure, peer: null, ratio: null, note };
        const peer = await (await context.peer('emmett')).ask('percentile', { percent: 99 });
        return { ours: figure, peer, ratio: peer / figure };
      },
    },
    ...logReaders.rows(context),
  ];
}

async function ours(context: Context, delays: number[]): Promise<Contender> {
  const { log, network } = await freshLog(await connectTo(context, 'strict'));
  const database = await openDatabase(context, network);
  await rebuild({ ...database, source: log, projection: availability, signal: context.signal });
  context.defer(startProjector(database, log, availability));
  const { read } = database.pools;
  const schema = await createReader(database).read(({ schemas }) => Promise.resolve(schemas.availability));
  const count = context.size(100, 5);
  let nodes = 0;
  return async () => {
    const own: number[] = [];
    for (let n = 0; n < count; n++) {
      const entity = `seen${nodes++}`;
      const started = performance.now();
      await log.append([{ kind: 'probe', entity, facts: [probeOf(entity, n)], expected: 0 }], {
        at: new Date().toISOString(),
      });
      while ((await read.query(`select from ${schema}.availability where id = $1`, [entity])).rowCount === 0)
        await pause(pollMs, undefined, { signal: context.signal });
      own.push(performance.now() - started);
    }
    delays.push(...own);
    return median(own);
  };
}

async function emmett(context: Context): Promise<Contender> {
  const peer = await openEmmett(context);
  await peer.ask('follow');
  return () => peer.ask('visible', { fact: probeOf('node', 0), count: context.size(10, 2) });
}
