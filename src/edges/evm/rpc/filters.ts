import { randomBytes } from 'node:crypto';
import { bytesToHex } from '@ethereumjs/util';
import { LRUCache } from 'lru-cache';
import type { Hex } from '../executor/outcome.ts';
import { rpcCodes, RpcError } from './rpc-error.ts';

/** Filters alive at once: beyond it the one that was longest not asked goes; and how long one lives unasked. */
const most = { filters: 200, idleMs: 5 * 60_000, changes: 10_000 };

/** What a filter gives beside its changes: all that it stands for. */
export type FilterSource = Readonly<{
  /** Begins to collect; what is given back ends it. */
  begin: (found: (change: unknown) => void) => () => void;
  /** All that it finds, for `eth_getFilterLogs`; undefined where it is no filter for logs. */
  all?: () => Promise<readonly unknown[]>;
}>;

type Filter = Readonly<{ source: FilterSource; changes: unknown[]; end: () => void }>;

/**
 * The filters that clients made: each collects what happens until it is asked.
 *
 * One that is not asked for five minutes is forgotten; of one that is asked too rarely only the last 10,000 changes
 * are told.
 */
export class Filters {
  readonly #alive = new LRUCache<string, Filter>({
    max: most.filters,
    ttl: most.idleMs,
    ttlAutopurge: true,
    updateAgeOnGet: true,
    dispose: ({ end }) => end(),
  });

  /** Makes a filter and says its id. */
  add(source: FilterSource): Hex {
    const id = bytesToHex(new Uint8Array(randomBytes(16)));
    const changes: unknown[] = [];
    const end = source.begin((change) => {
      changes.push(change);
      if (changes.length > most.changes) changes.shift();
    });
    this.#alive.set(id, { source, changes, end });
    return id;
  }

  /** What happened since it was asked last. Fails with an RpcError where there is no such filter. */
  changes(id: string): readonly unknown[] {
    return this.#known(id).changes.splice(0);
  }

  /** All logs that it stands for. Fails with an RpcError where there is no such filter for logs. */
  async all(id: string): Promise<readonly unknown[]> {
    const { all } = this.#known(id).source;
    if (!all) throw notFound();
    return await all();
  }

  /** Forgets a filter; whether it was there. */
  remove(id: string): boolean {
    return this.#alive.delete(id.toLowerCase());
  }

  /** Forgets all of them. */
  close(): void {
    this.#alive.clear();
  }

  #known(id: string): Filter {
    const filter = this.#alive.get(id.toLowerCase());
    if (!filter) throw notFound();
    return filter;
  }
}

const notFound = (): RpcError => new RpcError(rpcCodes.server, 'filter not found');
