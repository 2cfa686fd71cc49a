import pg from 'pg';
import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import { actions } from '../../src/projections/actions/actions.ts';
import { startChain } from '../chain.ts';
import { type Context, once } from '../context.ts';
import { openDatabase, startProjector, untilFollowed } from '../database.ts';
import { connectTo, freshLog } from '../log.ts';
import { besideEarlier, lumeScope } from '../measured-elsewhere.ts';
import { type Contender, milliseconds, perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';

/** LumeScope over 3,000 actions: requests of a round, and the seconds for the actions and for their transactions. */
const earlier = { requests: 30, perSecond: 3_000 / (1.29 + 9.3) };

/** Rounds of sync over a chain with 3,000 actions: one where nothing has changed, and the first one. */
export function rows(context: Context): readonly Row[] {
  const count = context.size(3_000, 200);
  const chain = once(() => startChain(context, count));
  const known = once(() => knownChain(context, chain));
  return [
    {
      name: 'sync-unchanged',
      unit: 'ms',
      better: 'lower',
      peerName: 'upsert of each action by itself',
      target: { ratio: 10 },
      measure: async () => {
        const { round } = await known();
        return context.inTurn(
          'lower',
          () => milliseconds(round),
          () => rowByRow(context, count),
        );
      },
    },
    {
      name: 'sync-unchanged-requests',
      unit: 'requests',
      better: 'lower',
      peerName: lumeScope,
      target: { ours: 10 },
      measure: async () => besideEarlier((await (await known()).round()).requests, earlier.requests, 'lower'),
    },
    {
      name: 'sync-unchanged-facts',
      unit: 'domain facts',
      better: 'lower',
      peerName: null,
      target: { ours: 0 },
      measure: async () => {
        const { round, actionFacts } = await known();
        const before = await actionFacts();
        await round();
        return { ours: (await actionFacts()) - before, peer: null, ratio: null };
      },
    },
    {
      name: 'sync-first',
      unit: 'actions/s',
      better: 'higher',
      peerName: lumeScope,
      target: { ours: 300 },
      measure: async () => {
        const { ours } = await context.inTurn('higher', await firstIndex(context, chain, count));
        return besideEarlier(ours, earlier.perSecond, 'higher');
      },
    },
  ];
}

type StartChain = () => ReturnType<typeof startChain>;

/** A log that has followed the whole chain already. */
async function knownChain(context: Context, chain: StartChain) {
  const { log } = await freshLog(await connectTo(context, 'strict'));
  const { round } = await chain();
  while ((await round(log)).facts > 0);
  return { round: () => round(log), actionFacts: async () => (await log.head('ACTIONS')).lastSequence };
}

/** From the first request to the last action's row, with hash, height and time. */
async function firstIndex(context: Context, chain: StartChain, count: number): Promise<Contender> {
  const nc = await connectTo(context, 'strict');
  const { signal } = context;
  const { round } = await chain();
  return async () => {
    const { log, network } = await freshLog(nc);
    const database = await openDatabase(context, network);
    await rebuild({ ...database, source: log, projection: actions, signal });
    const stop = startProjector(database, log, actions);
    const rate = await perSecond(count, async () => {
      await round(log);
      const { lastSequence: sequence } = await log.head('ACTIONS');
      await untilFollowed(database, actions, { sequence, signal });
    });
    await stop();
    return rate;
  };
}

/** Writes every action anew each round, one statement and one commit each, as LumeScope does. */
async function rowByRow(context: Context, count: number): Promise<Contender> {
  const client = new pg.Client((await context.postgres()).config);
  await client.connect();
  context.defer(() => client.end());
  await client.query(`create table unchanged (id bigint primary key, state text, creator text, height bigint,
    price text, expires bigint, size_kbs int, metadata jsonb, updated_at timestamptz)`);
  const metadata = JSON.stringify({ data_hash: 'aGFzaA==', file_name: 'a.txt' });
  return () =>
    milliseconds(async () => {
      for (let id = 1; id <= count; id++) {
        await client.query({
          name: 'upsert',
          text: `insert into unchanged values ($1, 'DONE', 'lumera1creator', 7, '10060ulume', 1, 6, $2, now())
            on conflict (id) do update set state = excluded.state, creator = excluded.creator, height = excluded.height,
              price = excluded.price, expires = excluded.expires, size_kbs = excluded.size_kbs,
              metadata = excluded.metadata, updated_at = excluded.updated_at`,
          values: [id, metadata],
        });
      }
    });
}
