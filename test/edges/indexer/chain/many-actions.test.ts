import { describe, expect, it } from 'vitest';
import { accountOf, type ChainState } from '../../../support/chains/chain-stub-state.ts';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';

const mostRequests = 10;
const whole = { hash: expect.stringMatching(/^[0-9A-F]{64}$/), height: expect.any(Number), time: expect.any(String) };

/** Blocks of a hundred actions, two of three of them finalized. */
function fill(chain: ChainState, actions: number): void {
  for (let done = 0; done < actions; done += 100) {
    const ids = chain.register(...Array.from({ length: 100 }, () => ({})));
    chain.finalize(accountOf('node'), ...ids.filter((id) => Number(id) % 3 > 0).map((id) => ({ id, amount: 5 })));
    chain.block();
  }
}

describe('readActions among 3,000 actions', () => {
  it(
    'has hash, height and time of every step, asks as little of an unchanged chain as among 100, and writes no domain fact',
    { timeout: 60_000 },
    async () => {
      const { chain, round, news, requests } = await syncing();
      const unchanged = async (blocks: number): Promise<number> => {
        chain.block(blocks);
        requests.length = 0;
        expect(await round('actions')).toMatchObject({ facts: 0, requests: requests.length });
        return requests.length;
      };
      fill(chain, 100);
      await round('actions');
      const among100 = [await unchanged(0), await unchanged(30)];
      fill(chain, 2_900);
      chain.block(20);
      await round('actions');
      const facts = await news('ACTIONS');
      expect(new Set(facts.map(({ data }) => 'action' in data && data.action)).size).toBe(3_000);
      for (const { data } of facts) expect(data).toMatchObject({ transaction: whole });
      expect([await unchanged(0), await unchanged(30)]).toEqual(among100);
      expect(Math.max(...among100)).toBeLessThanOrEqual(mostRequests);
      expect(await news('ACTIONS')).toEqual([]);
    },
  );
});
