import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import pg from 'pg';
import { expect, test } from 'vitest';
import { createExecution, type Execution } from '../../../src/edges/evm/workers/execution.ts';
import { type Ledger, type LedgerOptions, runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { openSnapshots } from '../../../src/edges/ledger/snapshots.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import { migratedDatabase } from '../../support/programs/migrated-database.ts';
import { until } from '../../support/polling.ts';
import { ask, cast, freshLog, playHistory, seed, send, silent } from './ledger-under-test.ts';

const gwei = 10n ** 9n;
const [key] = developmentAccounts().flatMap((one) => (one.key.type === 'eth_secp256k1' ? [one.key.bytes] : []));
const [alice = '', bob = ''] = cast.creators.map(({ account }) => account);

test(
  'a state that was emptied is executed again from the log: the same headers and nodes',
  { tags: ['S1.evm.verified', 'S1.evm.accounts'] },
  async () => {
    await using stored = await openStored();
    const { state, database, schema, stateNow } = stored;
    await using fresh = await freshLog();

    const { height } = await whileRunning(fresh.log, state, async (ledger) => {
      await playHistory(ledger);
      await ledger.submitEthereum(transfer(ledger, 0));
      const amount = [{ denom: 'ulume', amount: '1' }];
      await send(ledger, [{ '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: alice, to_address: bob, amount }]);
      await ledger.submitEthereum(transfer(ledger, 1));
    });
    const before = await stateNow();
    expect(before.headers).toHaveLength(height + 1);

    await database.query(`truncate ${schema}.evm_headers, ${schema}.evm_nodes`);
    const again = await whileRunning(fresh.log, state, () => Promise.resolve());
    expect(again.height).toBe(height);
    expect(await stateNow()).toEqual(before);
  },
);

const harms = {
  'the last two blocks': (schema: string) =>
    `delete from ${schema}.evm_headers where number > (select max(number) - 2 from ${schema}.evm_headers)`,
  'all blocks and nodes': (schema: string) => `truncate ${schema}.evm_headers, ${schema}.evm_nodes`,
};

test.for(Object.entries(harms))(
  'a running ledger whose store comes back without %s goes on: no header or node is missing',
  { tags: ['S1.evm.verified'] },
  async ([, harm]) => {
    await using stored = await openStored();
    const { state, database, schema, stateNow } = stored;
    await using fresh = await freshLog();
    const { height } = await whileRunning(fresh.log, state, async (ledger) => {
      await playHistory(ledger, 15);
      await ledger.submitEthereum(transfer(ledger, 0));
      await database.query(harm(schema));
      await ledger.submitEthereum(transfer(ledger, 1));
      await database.query(harm(schema));
      const amount = [{ denom: 'ulume', amount: '1' }];
      await send(ledger, [{ '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: alice, to_address: bob, amount }]);
    });
    const before = await stateNow();
    expect(before.headers).toHaveLength(height + 1);
    await database.query(`truncate ${schema}.evm_headers, ${schema}.evm_nodes`);
    await whileRunning(fresh.log, state, () => Promise.resolve());
    expect(await stateNow()).toEqual(before);
  },
);

test('a ledger starts from the newest snapshot that its log attests, and reads the blocks after it alone', async () => {
  await using stored = await openStored();
  const { state, database, schema } = stored;
  await using fresh = await freshLog();
  const snapshots = openSnapshots(state.postgres, state.network);
  const starts: number[] = [];
  const log: Log = {
    ...fresh.log,
    follow: (stream, after, options) => {
      if (stream === 'LEDGER') starts.push(after);
      return fresh.log.follow(stream, after, options);
    },
  };
  const chainNow = async (ledger: Ledger) =>
    await Promise.all(stateOf.map(async (path) => (await ask(ledger, path)).body));
  const run = async (work: (ledger: Ledger) => Promise<void>) =>
    await whileRunning(log, state, work, { snapshots, forget: () => Promise.reject(new Error('none is so old')) });
  let attested = 0;
  await run(async (ledger) => {
    await playHistory(ledger);
    attested = await attest(fresh.log, ledger.status().height);
    await until('a snapshot is stored', async () => await snapshots.newest(1_000_000));
    await ledger.submitEthereum(transfer(ledger, 0));
  });
  const before = await run(async (ledger) => {
    const all = await chainNow(ledger);
    await whileRunning(log, state, async (plain) => expect(all).toEqual(await chainNow(plain)));
  });
  expect(starts.slice(-4)).toEqual([attested, before.height + 2, 1, before.height + 2]);

  const forge = async (text: string): Promise<void> => {
    await database.query(text);
    starts.length = 0;
    expect(await run(() => Promise.resolve())).toEqual(before);
    expect(starts[0], 'what the log does not attest is passed over').toBe(1);
  };
  await forge(`update ${schema}.ledger_snapshots set hash = '\\x00'`);
  const [first] = [await snapshots.newest(1_000_000)];
  expect(first).toBeUndefined();
});

/** What follows from the rules' state alone. */
const stateOf = [
  '/LumeraProtocol/lumera/action/v1/list_actions?pagination.limit=1000',
  '/LumeraProtocol/lumera/supernode/v1/list_super_nodes',
  '/LumeraProtocol/lumera/supernode/v1/get_top_super_nodes_for_block/30',
  `/cosmos/auth/v1beta1/accounts/${alice}`,
  '/cosmos/base/node/v1beta1/status',
];

/** Attests the state of the last block as each thousandth is attested; gives the position in the log. */
async function attest(log: Log, height: number): Promise<number> {
  const { sequence = 0 } = (await log.last('ledger', ['chain'])).get('chain') ?? {};
  const data = { chain: 'chain', height, root: `0x${'11'.repeat(32)}` };
  const facts = [{ type: 'StateCheckpointed', data }] as const;
  const decision = { kind: 'ledger', entity: 'chain', facts, expected: sequence } as const;
  return (await log.append([decision], { at: new Date().toISOString() })).sequence;
}

/** A database with the tables of a network's state, and what lies in them. */
async function openStored() {
  const { postgres, network } = await migratedDatabase();
  const database = new pg.Client(postgres);
  await database.connect();
  const schema = metaSchema(network);
  const stateNow = async () => ({
    headers: (await database.query(`select number::text, hash, header from ${schema}.evm_headers order by number`))
      .rows,
    nodes: (await database.query(`select hash, node from ${schema}.evm_nodes order by hash`)).rows,
  });
  return {
    state: { postgres, network },
    database,
    schema,
    stateNow,
    [Symbol.asyncDispose]: () => database.end(),
  };
}

/** Runs a ledger over a state until the work is done; gives how far it was then. */
async function whileRunning(
  log: Log,
  state: Readonly<{ postgres: pg.ClientConfig; network: string }>,
  work: (ledger: Ledger) => Promise<void>,
  more: Pick<LedgerOptions, 'snapshots' | 'forget'> = {},
): Promise<ReturnType<Ledger['status']>> {
  let execution: Execution | undefined;
  const ledger = await runLedger({
    ...more,
    log,
    beginning: () => localBeginning(seed, Date.now()),
    execution: (config) => (execution = createExecution({ ...state, config })),
    host: '127.0.0.1',
    lcdPort: 0,
    logger: silent,
    signal: new AbortController().signal,
  });
  try {
    await work(ledger);
    return ledger.status();
  } finally {
    await ledger.stop();
    await execution?.close();
  }
}

function transfer(ledger: Ledger, nonce: number): Uint8Array {
  const { common, chainId } = ledger.ethereumTerms();
  const fees = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: gwei };
  const fields = { chainId, nonce, gasLimit: 21_000n, ...fees, to: `0x${'5b'.repeat(20)}`, value: 1n } as const;
  return createFeeMarket1559Tx(fields, { common })
    .sign(key ?? new Uint8Array(32))
    .serialize();
}
