import { setTimeout as sleep } from 'node:timers/promises';
import type { FactLog, Recorded } from '../../commands/ports.ts';
import type { Kind } from '../../events/catalogue.ts';
import type { Logger } from '../log.ts';

/** What probing needs of the log: the last facts of a whole kind, and a hint whenever a fact of a kind is written. */
export type WatchedLog = FactLog &
  Readonly<{
    lastOfAll: (kind: Kind) => Promise<ReadonlyMap<string, Recorded>>;
    watch: (kinds: readonly Kind[], onFact: (kind: Kind, entity: string) => void) => () => void;
  }>;

/** The listed SuperNodes as the log has them. */
export type Fleet = Readonly<{
  /** Address text of the chain by operator address. */
  addresses: () => ReadonlyMap<string, string>;
  /** Reads the log anew. */
  refresh: () => Promise<void>;
  close: () => void;
}>;

const retryMs = 1_000;

/**
 * Follows which SuperNodes are listed and where; the log alone is asked, never a read model.
 *
 * `onListed` is told of nodes that were not listed before, those of the first reading not among them.
 */
export async function followFleet(
  log: WatchedLog,
  logger: Logger,
  onListed: (nodes: readonly string[]) => void,
): Promise<Fleet> {
  let addresses: ReadonlyMap<string, string> = new Map();
  const closed = new AbortController();
  const refresh = async () => {
    const before = addresses;
    addresses = listed(await log.lastOfAll('node'));
    const added = [...addresses.keys()].filter((node) => !before.has(node));
    if (added.length > 0 && !closed.signal.aborted) onListed(added);
  };

  let isStale = false;
  let isReading = false;
  const catchUp = async () => {
    isStale = true;
    if (isReading) return;
    isReading = true;
    while (isStale && !closed.signal.aborted) {
      isStale = false;
      await refresh().catch(async (cause: unknown) => {
        logger.warn({ cause: String(cause) }, 'the list of nodes to probe could not be read');
        isStale = true;
        await sleep(retryMs, undefined, { signal: closed.signal }).catch(() => undefined);
      });
    }
    isReading = false;
  };

  const unwatch = log.watch(['node'], () => void catchUp());
  addresses = listed(await log.lastOfAll('node'));
  return {
    addresses: () => addresses,
    refresh,
    close: () => {
      unwatch();
      closed.abort();
    },
  };
}

function listed(last: ReadonlyMap<string, Recorded>): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  for (const [node, { fact }] of last) {
    if (fact.type === 'SuperNodeListed' || fact.type === 'SuperNodeChanged')
      addresses.set(node, fact.data.record.address);
  }
  return addresses;
}
