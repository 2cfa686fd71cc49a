import { failureOf } from '../kit/failure.ts';
import { type ActivityOptions, playActivity } from './activity.ts';
import { castOf } from './cast.ts';
import { registerNodes } from './register-nodes.ts';

/** What a local network plays on; `nodes` of its real SuperNodes are on the chain. */
export type LocalNetworkOptions = ActivityOptions & Readonly<{ nodes: number }>;

/** A running local network. */
export type LocalNetwork = Readonly<{
  /** Rejects when nothing happens there any more; never resolves. */
  failed: Promise<never>;
  stop: () => Promise<void>;
}>;

/**
 * Puts the local network's SuperNodes on its chain, and starts the activity there.
 *
 * Resolves once the history of the chain is in the log. The chain is a ledger that began with `localBeginning` of the
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
