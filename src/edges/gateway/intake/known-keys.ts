import type { CascadeChain } from '../../chain/files/chain.ts';
import type { Signatory } from '../../chain/files/signatures.ts';

const storedMs = 60_000;
const mostStored = 10_000;

/**
 * The same chain, which caches the key of an account for a minute.
 *
 * It never caches whose key counts for an action: its creator may change. Nor does it cache that an account has no key:
 * its first transaction sets one.
 */
export function rememberingKeys(chain: CascadeChain, clock: () => number = Date.now): CascadeChain {
  const known = new Map<string, Readonly<{ signatory: Signatory; until: number }>>();
  return {
    ...chain,
    signatoryOf: async (registrant) => {
      const name = `${registrant.creator} ${registrant.appKey ?? ''}`;
      const stored = known.get(name);
      if (stored && stored.until > clock()) return stored.signatory;
      const request = clock();
      const signatory = await chain.signatoryOf(registrant);
      known.delete(name);
      if (signatory) known.set(name, { signatory, until: request + storedMs });
      const [oldest] = known.keys();
      if (known.size > mostStored && oldest !== undefined) known.delete(oldest);
      return signatory;
    },
  };
}
