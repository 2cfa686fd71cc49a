import type { FactLog, Recorded } from '../../../commands/ports.ts';
import type { Kind } from '../../../events/streams.ts';
import type { Logger } from '../../../kit/logger.ts';
import { wait } from '../../../kit/wait.ts';

/** The part of the log that probing needs: the last facts of a kind, and a hint for each new fact of a kind. */
export type WatchedLog = FactLog &
  Readonly<{
    lastOfAll: (kind: Kind) => Promise<ReadonlyMap<string, Recorded>>;
    watch: (kinds: readonly Kind[], onFact: (kind: Kind, entity: string) => void) => () => void;
  }>;

/** The listed SuperNodes as the log has them. */
type Fleet = Readonly<{
  /** Address text of the chain by operator address. */
  addresses: () => ReadonlyMap<string, string>;
  /** Reads the log anew. */
  refresh: () => Promise<void>;
}>;

/** `onListed` is called with nodes that were not listed before, until the signal ends it. */
type FleetOptions = Readonly<{
  onListed: (addresses: ReadonlyMap<string, string>) => void;
  logger: Logger;
  signal: AbortSignal;
}>;

const retryMs = 1_000;

/** Follows which SuperNodes are listed and where, until the signal ends it; reads only the log, never a read model. */
export async function followFleet(log: WatchedLog, { onListed, logger, signal }: FleetOptions): Promise<Fleet> {
  let addresses: ReadonlyMap<string, string> = new Map();
  const refresh = async () => {
    const now = listed(await log.lastOfAll('node'));
    const added = [...now].filter(([node]) => !addresses.has(node));
    addresses = now;
    if (added.length > 0 && !signal.aborted) onListed(new Map(added));
  };

  let isStale = false;
  let isReading = false;
  const catchUp = async () => {
    isStale = true;
    if (isReading) return;
    isReading = true;
    while (isStale && !signal.aborted) {
      isStale = false;
      await refresh().catch(async (caught: unknown) => {
        logger.warn({ reason: String(caught) }, 'the list of nodes to probe could not be read; trying again');
        isStale = true;
        await wait(retryMs, signal);
      });
    }
    isReading = false;
  };

  const unwatch = log.watch(['node'], () => void catchUp());
  signal.addEventListener('abort', unwatch, { once: true });
  await refresh();
  return { addresses: () => addresses, refresh };
}

function listed(last: ReadonlyMap<string, Recorded>): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  for (const [node, { fact }] of last) {
    if (fact.type === 'SuperNodeListed' || fact.type === 'SuperNodeChanged')
      addresses.set(node, fact.data.record.address);
  }
  return addresses;
}
