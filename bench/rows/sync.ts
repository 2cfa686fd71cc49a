<<<<<<< HEAD
import pg from 'pg';
import { rebuild } from '../../src/edges/postgres/rebuild.ts';
import { actions } from '../../src/projections/actions.ts';
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
=======
import { readActions } from '../../src/edges/chain/actions-round.ts';
import { createChainClient } from '../../src/edges/chain/client.ts';
import { loadProfile } from '../../src/edges/chain/profile.ts';
import { type RoundEnd, runRound } from '../../src/edges/chain/round.ts';
import type { Log } from '../../src/edges/nats/log.ts';
import { type ChainStub, startChainStub } from '../../test/support/chain-stub.ts';
import { accountOf } from '../../test/support/chain-stub-state.ts';
import type { Context } from '../context.ts';
import { connectTo, freshLog } from '../log.ts';
import { perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';

const perBlock = 100;

/** How a chain on this machine is indexed: new actions with hash, height and time, and what a round costs when nothing is new. */
export function rows(context: Context): readonly Row[] {
  const actions = context.size(3_000, 300);
  return [
    {
      name: 'sync-new',
      unit: 'actions/s',
      better: 'higher',
      peerName: null,
      target: { ours: 300 },
      measure: () => context.inTurn('higher', () => indexNewActions(context, actions)),
    },
    {
      name: 'sync-unchanged',
      unit: 'requests',
      better: 'lower',
      peerName: null,
      target: { ours: 10 },
      measure: () => context.inTurn('lower', () => requestsOfUnchanged(context, actions)),
>>>>>>> 6fe9bb0 (Measure new and unchanged actions, and sweeps over 200 and 10,000 nodes of which half are black holes)
    },
  ];
}

<<<<<<< HEAD
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
=======
/** Indexes as many new actions, two of three finalized, from a chain of its own; gives back how many a second. */
export async function indexNewActions(context: Context, actions: number): Promise<number> {
  await using indexing = await startIndexing(context);
  await indexing.round();
  fill(indexing.stub, actions);
  const rate = await perSecond(actions, indexing.round);
  await requireTransactions(indexing.log, actions);
  return rate;
}

/** What a round asks of a chain on which nothing has happened; fails where it writes a fact. */
export async function requestsOfUnchanged(context: Context, actions: number): Promise<number> {
  await using indexing = await startIndexing(context);
  fill(indexing.stub, actions);
  await indexing.round();
  indexing.stub.chain.block(5);
  const { requests, facts } = await indexing.round();
  if (facts !== 0) throw new Error(`An unchanged chain gave ${facts} facts`);
  return requests;
}

type Indexing = AsyncDisposable & Readonly<{ stub: ChainStub; log: Log; round: () => Promise<RoundEnd> }>;

async function startIndexing(context: Context): Promise<Indexing> {
  const { log } = await freshLog(await connectTo(context, 'strict'));
  const stub = await startChainStub();
  const profile = loadProfile('main');
  const client = createChainClient(stub.url, profile);
  const { signal } = context;
  const round = async (): Promise<RoundEnd> => {
    const end = await runRound({
      source: 'actions',
      client,
      profile,
      log,
      signal,
      read: readActions,
      report: () => undefined,
    });
    if (end.error) throw end.error;
    return end;
  };
  const end = async (): Promise<void> => {
    await client.close();
    await stub.stop();
  };
  return { stub, log, round, [Symbol.asyncDispose]: end };
}

function fill({ chain }: ChainStub, actions: number): void {
  const node = accountOf('node');
  for (let done = 0; done < actions; done += perBlock) {
    const ids = Array.from({ length: Math.min(perBlock, actions - done) }, () => chain.register({})).flat();
    for (const id of ids) if (Number(id) % 3 > 0) chain.finalize(node, { id, amount: 9_859 });
    chain.block();
  }
  chain.block(20);
}

async function requireTransactions(log: Log, actions: number): Promise<void> {
  const last = await log.lastOfAll('action');
  const isWhole = [...last.values()].every(
    ({ fact }) => 'transaction' in fact.data && fact.data.transaction?.time !== undefined,
  );
  if (last.size !== actions || !isWhole)
    throw new Error(`Of ${actions} actions ${last.size} were indexed, ${isWhole ? 'all' : 'not all'} with a time`);
>>>>>>> 6fe9bb0 (Measure new and unchanged actions, and sweeps over 200 and 10,000 nodes of which half are black holes)
}
