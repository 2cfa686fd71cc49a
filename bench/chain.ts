import { readActions } from '../src/edges/indexer/rounds/actions-round.ts';
import { createChainClient } from '../src/edges/chain/rest/client.ts';
import { loadProfile } from '../src/edges/chain/rest/profile.ts';
import { runRound, type RoundEnd } from '../src/edges/indexer/rounds/round.ts';
import type { Log } from '../src/engine/log/log.ts';
import { startChainStub } from '../test/support/chains/chain-stub.ts';
import { accountOf } from '../test/support/chains/chain-stub-state.ts';
import type { Context } from './context.ts';

const perBlock = 100;
const price = 10_060;

/** A chain's REST on loopback with that many actions on it, most of them finalized; and rounds of sync over it. */
export async function startChain(
  context: Context,
  actions: number,
): Promise<{ round: (log: Log) => Promise<RoundEnd> }> {
  const { chain, url, stop } = await startChainStub();
  context.defer(stop);
  for (let from = 0; from < actions; from += perBlock) {
    const ids = chain.register(...Array.from({ length: Math.min(perBlock, actions - from) }, () => ({ price })));
    chain.block();
    const done = ids.filter((_, n) => n % 5 < 3).map((id) => ({ id, amount: price }));
    chain.finalize(accountOf(`node ${from}`), ...done);
    chain.block();
  }
  const profile = loadProfile('main');
  const client = createChainClient(url, profile);
  context.defer(() => client.close());
  const { signal } = context;
  const report = (): void => undefined;
  return {
    round: async (log) => {
      const end = await runRound({ source: 'actions', client, profile, log, signal, report, read: readActions });
      if (end.error) throw end.error;
      return end;
    },
  };
}
