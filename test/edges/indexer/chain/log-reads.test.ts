import { expect, it } from 'vitest';
import type { FactLog } from '../../../../src/commands/ports.ts';
import { accountOf } from '../../../support/chains/chain-stub-state.ts';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';

it('a round reads each action that it touches once from the log, in its first round and afterwards', async () => {
  const { chain, round, log, news } = await syncing();
  const reads = new Map<string, number>();
  const last: FactLog['last'] = async (kind, entities) => {
    if (kind === 'action') for (const id of entities) reads.set(id, (reads.get(id) ?? 0) + 1);
    return await log.last(kind, entities);
  };
  const readsOfRound = async (): Promise<Record<string, number>> => {
    reads.clear();
    expect(await round('actions', { log: { ...log, last } })).not.toHaveProperty('failure');
    return Object.fromEntries(reads);
  };
  const ids = chain.register({}, {}, {});
  chain.block(20);
  expect(await readsOfRound()).toEqual(Object.fromEntries(ids.map((id) => [id, 1])));

  const [first = ''] = ids;
  chain.finalize(accountOf('node'), { id: first, amount: 5 });
  const [later = ''] = chain.register({});
  chain.block();
  expect(await readsOfRound()).toEqual({ [first]: 1, [later]: 1 });
  expect((await news('ACTIONS')).map(({ type }) => type).toSorted()).toEqual([
    'ActionFinalized',
    ...Array.from({ length: 4 }, () => 'ActionRegistered'),
  ]);
});
