import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ranksAt } from '../../../../src/edges/indexer/rest/rank.ts';
import { runQuery } from '../../../../src/edges/bus.ts';
import { createRanks } from '../../../../src/edges/indexer/rest/ranks.ts';
import type { ReadSnapshot } from '../../../../src/edges/indexer/rest/reads.ts';
import type { RoundRow } from '../../../../src/projections/tables.ts';
import { nodeFacts } from '../../../support/histories/facts.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';

const round = (completed_height: number): RoundRow => ({
  source: 'supernodes',
  chain_id: null,
  completed_at: null,
  completed_height,
  completed_block_time: null,
  cursor: 0,
  requests: null,
  facts: null,
  skipped: [],
  failed_at: null,
  failed_reason: null,
  failed_message: null,
  minimum_version: null,
  requested_at: null,
});

it('createRanks ranks once for all who ask at once, and anew at another height', async () => {
  const top: string[] = JSON.parse(
    readFileSync(new URL('../../../fixtures/top-list/682.json', import.meta.url), 'utf8'),
  ).top;
  const { reading, close } = await loadReading(top.map((operator) => nodeFacts(operator).listed()));
  const ranks = createRanks();
  const snapshotOf = (...rounds: RoundRow[]): ReadSnapshot => ({
    reading,
    tag: '',
    rounds,
    ask: (query) => runQuery(reading, query),
  });
  const listed = top.map((operator) => ({ operator, state: 'active', registeredHeight: null }));
  for (const height of [700, 701]) {
    const snapshot = snapshotOf(round(height));
    const [one, other] = await Promise.all([ranks(snapshot), ranks(snapshot)]);
    expect([...one]).toEqual([...ranksAt(height, listed)]);
    expect(one.size).toBe(top.length);
    expect(other).toBe(one);
  }
  expect(await ranks(snapshotOf())).toEqual(new Map());
  await close();
});
