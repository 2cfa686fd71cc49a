import { actions } from '../../src/projections/actions/actions.ts';
import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import type { Context } from '../context.ts';
import { openDatabase, startProjector, untilFollowed } from '../database.ts';
import { appendActions, connectTo, freshLog, probeOf } from '../log.ts';
import { type Contender, perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';
import { openEmmett } from '../systems.ts';

/** A live read model that has fallen behind and follows again, with all its indexes and counters. */
export function rows(context: Context): readonly Row[] {
  const peerName = 'emmett-postgresql 0.42.0, a consumer with one projection';
  const target = { ours: 30_000, ratio: 10 };
  return [{ name: 'catch-up', unit: 'events/s', better: 'higher', peerName, target, measure: () => measure(context) }];
}

async function measure(context: Context) {
  const nc = await connectTo(context, 'relaxed');
  const { signal } = context;
  const known = context.size(5_000, 500);
  const count = context.size(25_000, 1_000);
  const ours = async (): Promise<number> => {
    const { log, network } = await freshLog(nc);
    const database = await openDatabase(context, network);
    await appendActions(log, { from: 1, count: known });
    const { position } = await rebuild({ ...database, source: log, projection: actions, signal });
    await appendActions(log, { from: known + 1, count });
    const { lastSequence: sequence } = await log.head('ACTIONS');
    let stop: (() => Promise<void>) | undefined;
    const rate = await perSecond(sequence - position, () => {
      stop = startProjector(database, log, actions);
      return untilFollowed(database, actions, { sequence, signal });
    });
    await stop?.();
    return rate;
  };
  return context.inTurn('higher', ours, () => emmett(context));
}

/** As many nodes as its rebuild has, whose facts it follows from the first on into one table. */
async function emmett(context: Context): Promise<Contender> {
  const peer = await openEmmett(context);
  const streams = Array.from({ length: context.size(500, 100) }, (_, n) => `follow ${n}`);
  const facts = Array.from({ length: 12 }, (_, event) => probeOf('node', event));
  await peer.ask('seed', { streams, facts });
  return () => peer.ask('catchUp', { events: streams.length * facts.length });
}
