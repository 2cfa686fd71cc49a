import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '../../src/edges/bus.ts';
import { logMatcher } from '../../src/edges/evm/methods/logs.ts';
import type { Fact } from '../../src/events/catalogue.ts';
import { BlocksWithLogs } from '../../src/projections/blocks/queries.ts';
import { loadReading } from '../support/load-projection.ts';
import { seeded } from '../support/random-history.ts';

type Hex = `0x${string}`;
type Log = Readonly<{ address: Hex; topics: Hex[]; data: Hex }>;

const random = seeded(20_261_124);
const hex = (bytes: number, digit: number): Hex => `0x${digit.toString(16).repeat(2 * bytes)}`;
const anyOf = (bytes: number): Hex => hex(bytes, 1 + random.below(3));
const many = <T>(count: number, one: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => one(at));
const anyLog = (): Log => ({ address: anyOf(20), topics: many(random.below(5), () => anyOf(32)), data: '0x' });
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
      block: '',
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

const found = async (search: ConstructorParameters<typeof BlocksWithLogs>[0]) =>
  await ask(loaded.reading, new BlocksWithLogs(search));

test('blocks with logs are those in which one matches, whatever is asked', async () => {
  for (let n = 0; n < 200; n++) {
    const from = random.below(70);
    const to = from + random.below(70);
    const addresses = many(random.below(3), () => anyOf(20));
    const topics = many(random.below(5), () => many(random.below(3), () => anyOf(32)));
    const matches = logMatcher({
      address: addresses,
      topics: topics.map((values) => (values.length > 0 ? values : null)),
    });
    const right = blocks.filter(({ height, logs }) => height >= from && height <= to && logs.some(matches));
    const search = { from, to, addresses, topics, limit: 1000 };
    expect(await found(search), JSON.stringify(search)).toEqual(right.map(({ height }) => height));
  }
});

test('blocks with logs end where enough logs were looked at, and five topics are in none', async () => {
  const all = { from: 0, to: 100, addresses: [], topics: [] };
  const [first] = blocks.filter(({ logs }) => logs.length > 0);
  expect(await found({ ...all, limit: 1 })).toEqual([first?.height]);
  expect(await found({ ...all, topics: [[], [], [], [], []], limit: 1000 })).toEqual([]);
});
