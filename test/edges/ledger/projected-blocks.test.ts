import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Complete } from '../../../src/edges/ledger/blocks/blocks.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { openChain } from '../../../src/edges/ledger/log-fold.ts';
import { projectedBlocks } from '../../../src/edges/ledger/blocks/projected-blocks.ts';
import {
  blocksInMemory,
  type SealedBlocks,
  type SealedSearchResult,
} from '../../../src/edges/ledger/blocks/sealed-blocks.ts';
import { parseQuery } from '../../../src/edges/ledger/blocks/search-query.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import type { Reading } from '../../../src/projections/reading.ts';
import { loadReading } from '../../support/histories/load-projection.ts';
import { ethereumTransaction, pay } from '../evm/mixed-history.ts';
import { cast, freshLog, playHistory, seed, startLedger } from './ledger-under-test.ts';

let memory: SealedBlocks;
let projected: SealedBlocks;
let height = 0;
let hashes: string[] = [];
let loaded: Awaited<ReturnType<typeof loadReading>>;
let reading: Reading;
beforeAll(async () => {
  await using fresh = await freshLog();
  await using ledger = await startLedger(fresh.log);
  await playHistory(ledger);
  for (let nonce = 0; nonce < 2; nonce += 1) {
    await ledger.submitEthereum(ethereumTransaction(ledger, nonce, { to: `0x${'5b'.repeat(20)}`, value: 1n }));
    await pay(ledger, 1n);
  }
  const beginning = () => localBeginning(seed, Date.now());
  const blocks = (whole: Complete) => (memory = blocksInMemory(whole));
  const { signal } = new AbortController();
  const chain = await openChain(fresh.log, { beginning, execution: executeInMemory, blocks }, signal);
  ({ height } = chain);
  const all = await chain.search([], { order: 'asc', offset: 0, limit: 1_000 });
  const read = new Map((await chain.whole(all.transactions)).map((one) => [one.hash, one]));
  hashes = [...read.keys()];
  // The tables of a test have no positions: what transactions did is known by their hashes.
  const whole: Complete = (transactions) =>
    Promise.resolve(transactions.map(({ hash }) => read.get(hash) ?? expect.fail(`${hash} is in no block`)));
  // Searches of the chain in memory read its log, which is gone after this.
  const inMemory = blocksInMemory(whole);
  for (let number = 1; number <= height; number += 1) {
    const block = (await chain.block(number)) ?? expect.fail(`no block ${number}`);
    inMemory.add(
      block,
      block.transactions.map(({ hash }) => read.get(hash)?.events ?? []),
    );
  }
  memory = inMemory;
  const facts: Fact[] = [];
  const { lastSequence } = await fresh.log.head('LEDGER');
  for (let sequence = 1; sequence <= lastSequence; sequence += 1)
    facts.push((await fresh.log.readOne('LEDGER', sequence))?.fact ?? expect.fail(`no fact ${sequence}`));
  loaded = await loadReading(facts);
  ({ reading } = loaded);
  projected = projectedBlocks({ read: (use) => use(reading) }, whole);
});
afterAll(async () => await loaded.close());

const upTo = { sequence: 1 };
const shown = ({ total, transactions }: SealedSearchResult) => ({
  total,
  transactions: transactions.map(({ hash, height: at, time, code, log }) => ({ hash, at, time, code, log })),
});
const withoutPosition = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, one: unknown) => (key === 'sequence' ? undefined : one)));

describe('blocks of the read model are those that a chain in memory has', () => {
  test('each of them, and each transaction by its hash', async () => {
    for (let number = 0; number <= height + 1; number += 1)
      expect(withoutPosition((await projected.block(number, upTo)) ?? null)).toEqual(
        withoutPosition((await memory.block(number, upTo)) ?? null),
      );
    expect(hashes.length).toBeGreaterThan(40);
    for (const hash of [...hashes, 'AB'.repeat(32), 'odd'])
      expect(withoutPosition((await projected.transaction(hash, upTo)) ?? null)).toEqual(
        withoutPosition((await memory.transaction(hash, upTo)) ?? null),
      );
  });

  const [creator] = cast.creators;
  test.each([
    'action_registered.action_id EXISTS',
    'action_registered.action_id EXISTS AND tx.height>=10 AND tx.height<30',
    'action_registered.action_id=3',
    'action_finalized.action_id EXISTS AND tx.height>20',
    "message.action='/cosmos.evm.vm.v1.MsgEthereumTx'",
    "message.module='evm'",
    "message.action='/lumera.action.v1.MsgRequestAction'",
    `message.sender='${creator?.account}'`,
    `tx.fee_payer='${creator?.account}' AND action_registered.action_id EXISTS`,
    'ethereum_tx.txIndex=0',
    'tx.acc_seq EXISTS AND tx.height=12',
    "tx.fee='2000ulume'",
    'action_registered.action_id>=2',
    'tx.height>=0',
    'tx.height<0',
    'nothing.here EXISTS',
  ])('a search for %s', async (text) => {
    const conditions = parseQuery(text);
    for (const order of ['asc', 'desc'] as const)
      for (const [offset, limit] of [
        [0, 100],
        [1, 3],
        [5, 1],
        [500, 10],
      ] as const) {
        const page = { order, offset, limit };
        const wanted = await memory.search(conditions, page, upTo);
        expect(shown(await projected.search(conditions, page, upTo))).toEqual(shown(wanted));
      }
  });

  test('a page that lies beyond every number of the database', async () => {
    const page = { order: 'asc', offset: 1e20, limit: 100 } as const;
    const beyond = await projected.search(parseQuery('tx.height>0'), page, upTo);
    expect(beyond).toEqual(await memory.search(parseQuery('tx.height>0'), page, upTo));
    expect(beyond).toMatchObject({ total: hashes.length, transactions: [] });
  });

  test('a search by hash, with what else it wants', async () => {
    for (const more of ['', ' AND tx.height>=1', ' AND tx.height<1', ' AND nothing.here EXISTS']) {
      const conditions = parseQuery(`tx.hash='${hashes[3]?.toLowerCase()}'${more}`);
      const page = { order: 'asc', offset: 0, limit: 10 } as const;
      const wanted = await memory.search(conditions, page, upTo);
      expect(shown(await projected.search(conditions, page, upTo))).toEqual(shown(wanted));
    }
  });

  test('a read model that is behind is waited for, and its end is no end of the chain', async () => {
    const behind = { sequence: reading.followed.blocks.sequence + 1 };
    const read = projected.transaction('AB'.repeat(32), behind);
    const { followed } = reading;
    reading = { ...reading, followed: { ...followed, blocks: { ...followed.blocks, sequence: behind.sequence } } };
    expect(await read).toBeUndefined();
  });
});
