import { RLP } from '@ethereumjs/rlp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runQuery } from '../../src/edges/bus.ts';
import { logForms } from '../../src/edges/evm/chain/log-form.ts';
import { logMatcher } from '../../src/edges/evm/methods/logs.ts';
import type { Fact } from '../../src/events/catalogue.ts';
import {
  LogsMatching,
  LogsOfReceipts,
  LogTextsOfReceipts,
  type LogSearch,
} from '../../src/projections/chain/log-queries.ts';
import { loadReading } from '../support/histories/load-projection.ts';
import { seeded } from '../support/histories/random-history.ts';

type Hex = `0x${string}`;
type Log = Readonly<{ address: Hex; topics: Hex[]; data: Hex }>;

/** A block of a header with 15 fields, whose number and timestamp are the height, and of nothing else. */
const rlpOf = (height: number): Buffer => {
  const header = Array.from({ length: 15 }, (_, at) => (at === 8 || at === 11 ? height : new Uint8Array(32)));
  return Buffer.from(RLP.encode([header, [], [], []]));
};

const random = seeded(20_261_124);
const hex = (bytes: number, digit: number): Hex => `0x${digit.toString(16).repeat(2 * bytes)}`;
const anyOf = (bytes: number): Hex => hex(bytes, 1 + random.below(3));
const many = <T>(count: number, one: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => one(at));
const anyLog = (): Log => ({ address: anyOf(20), topics: many(random.below(5), () => anyOf(32)), data: '0x01' });
const blocks = many(60, (index) => ({
  height: index + 1,
  logs: many(random.chance(0.5) ? 0 : 1 + random.below(4), anyLog),
}));
const facts = blocks.map(({ height, logs }): Fact<'BlockSealed'> => ({
  type: 'BlockSealed',
  data: {
    chain: 'chain',
    height,
    time: '2026-01-01T00:00:00Z',
    transactions: [],
    endBlockEvents: [],
    evm: {
      hash: `0x${height.toString(16).padStart(64, '0')}`,
      block: rlpOf(height).toString('base64'),
      receipts: logs.map((log, index) => ({
        hash: `0x${(height * 100 + index).toString(16).padStart(64, '0')}`,
        type: 2,
        from: hex(20, 9),
        succeeded: true,
        gasUsed: 1,
        cumulativeGasUsed: 1,
        effectiveGasPrice: '1',
        logs: [log],
        accounts: [],
        events: [],
        records: [],
        touched: [],
        gasLimit: 1,
      })),
    },
  },
}));

let loaded: Awaited<ReturnType<typeof loadReading>>;
beforeAll(async () => {
  loaded = await loadReading(facts);
});
afterAll(async () => await loaded.close());

const ofReceipts = async (number: number, place?: number) =>
  (await runQuery(loaded.reading, new LogsOfReceipts({ number, place }))).map(
    ({ address, topic0, topic1, topic2, topic3, data }) => ({
      address,
      topics: [topic0, topic1, topic2, topic3].filter((topic) => topic !== null),
      data,
    }),
  );
const found = async (search: LogSearch) => await runQuery(loaded.reading, new LogsMatching(search));
const placesOf = (logs: Awaited<ReturnType<typeof found>>) =>
  'exceeds' in logs ? logs.exceeds : logs.map(({ number, place, timestamp }) => [number, place, timestamp]);

test('logs are those that match, with what their blocks say of themselves, whatever the search', async () => {
  for (let n = 0; n < 200; n++) {
    const from = random.below(70);
    const to = from + random.below(70);
    const addresses = many(random.below(3), () => anyOf(20));
    const topics = many(random.below(5), () => many(random.below(3), () => anyOf(32)));
    const matches = logMatcher({
      address: addresses,
      topics: topics.map((values) => (values.length > 0 ? values : null)),
    });
    const within = blocks.filter(({ height }) => height >= from && height <= to);
    const right = within.flatMap(({ height, logs }) =>
      logs.flatMap((log, place) => (matches(log) ? [[height, place, height]] : [])),
    );
    const search = { from, to, addresses, topics };
    expect(placesOf(await found(search)), JSON.stringify(search)).toEqual(right);
  }
});

test('the logs of receipts are those of their block, of all its transactions or of one', async () => {
  for (const { height, logs } of blocks.slice(0, 20)) {
    const shown = logs.map(({ address, topics, data }) => ({ address, topics, data }));
    expect(await ofReceipts(height)).toEqual(shown);
    for (const place of [0, 2, logs.length])
      expect(await ofReceipts(height, place)).toEqual(shown.slice(place, place + 1));
  }
});

test('receipts show their logs as the text that JSON-RPC makes of them, and name what their blooms hold', async () => {
  for (const { height, logs } of blocks.slice(0, 20)) {
    const of = { number: height, hash: hex(32, 7), timestamp: BigInt(height) };
    const texts = await runQuery(loaded.reading, new LogTextsOfReceipts(of));
    const right = logs.map((log, place) => {
      const transactionHash: Hex = `0x${(height * 100 + place).toString(16).padStart(64, '0')}`;
      const position = { blockNumber: BigInt(height), blockHash: of.hash, timestamp: of.timestamp };
      const text = JSON.stringify(logForms({ ...position, transactionHash, transactionIndex: place })(log, place));
      return { transaction_place: place, text, parts: [...new Set([log.address, ...log.topics])].toSorted() };
    });
    const sorted = texts.map((one) => ({ ...one, parts: [...new Set(one.parts)].toSorted() }));
    expect(sorted.toSorted((a, b) => a.transaction_place - b.transaction_place)).toEqual(right);
    expect(await runQuery(loaded.reading, new LogTextsOfReceipts({ ...of, place: 1 }))).toHaveLength(
      logs.length > 1 ? 1 : 0,
    );
  }
});

test('logs beyond a bound are none, and five topics are in none', async () => {
  const all = { from: 0, to: 100, addresses: [], topics: [] };
  const count = blocks.reduce((sum, { logs }) => sum + logs.length, 0);
  const most = (logs: number, dataBytes: number) => ({ ...all, most: { logs, dataBytes } });
  expect(placesOf(await found(most(count, count)))).toHaveLength(count);
  expect(await found(most(count - 1, count))).toEqual({ exceeds: 'logs' });
  expect(await found(most(count, count - 1))).toEqual({ exceeds: 'dataBytes' });
  expect(await found({ ...all, topics: [[], [], [], [], []] })).toEqual([]);
});
