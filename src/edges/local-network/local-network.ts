import { signedTransaction } from '../chain/sign/wallet.ts';
import { failureOf } from '../../kit/failure.ts';
import type { Ledger } from '../ledger/run-ledger.ts';
import { type ActivityOptions, playActivity } from './activity.ts';
import { denom } from './beginning.ts';
import { castOf, type RealNode } from './cast.ts';
import { registration } from './deeds.ts';

/** The parts of a local network; `nodes` of its real SuperNodes are on the chain. */
type LocalNetworkOptions = ActivityOptions & Readonly<{ nodes: number }>;

/** A running local network. */
type LocalNetwork = Readonly<{
  /** Rejects when nothing happens there any more; never resolves. */
  failed: Promise<never>;
  stop: () => Promise<void>;
}>;

/**
 * Puts the local network's SuperNodes on its chain, and starts the activity there.
 *
 * Resolves once the history of the chain is in the log. The chain is a ledger whose genesis is `localBeginning` of the
 * same seed.
 *
 * @example await startLocalNetwork({ ledger, seed: 1, nodes: 3, logger, signal })
 */
export async function startLocalNetwork(options: LocalNetworkOptions): Promise<LocalNetwork> {
  const { ledger, seed, subnet, nodes } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  await registerNodes(ledger, castOf(seed, subnet).realNodes.slice(0, nodes));
  const history = Promise.withResolvers<void>();
  const activity = playActivity({ ...options, signal, onHistory: history.resolve });
  const failed = failureOf([activity], signal);
  await Promise.race([history.promise, activity]);
  return {
    failed,
    stop: async () => {
      own.abort();
      await activity.catch(() => undefined);
    },
  };
}

/**
 * Puts SuperNodes on the chain that are not there yet, each by a transaction of its operator; resolves once they are.
 *
 * On a new chain their blocks are as old as the chain, before anything else.
 */
export async function registerNodes(ledger: Ledger, nodes: readonly RealNode[]): Promise<void> {
  const { chainId, startedAt, transactions } = ledger.status();
  const at = transactions === 0 ? Date.parse(startedAt) : undefined;
  const sent = nodes.map(async (node) => {
    const signing = ledger.signerInfo(node.operator.account);
    if (!signing || signing.sequence > 0) return;
    await ledger.submit(signedTransaction(node.operator.key, [registration(node)], { chainId, denom, ...signing }), at);
  });
  await Promise.all(sent);
}
