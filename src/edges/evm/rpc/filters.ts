import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Hex } from '../executor/outcome.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';

/** Bounds of filters: how many of one caller and of all, bytes that they collect, and how long one lives unread. */
export type FilterBounds = Readonly<{
  ofCaller: number;
  ofAll: number;
  bytesOfCaller: number;
  bytesOfAll: number;
  idleMs: number;
}>;

const usual: FilterBounds = {
  ofCaller: 200,
  ofAll: 2_000,
  bytesOfCaller: 16 * 1024 * 1024,
  bytesOfAll: 128 * 1024 * 1024,
  idleMs: 5 * 60_000,
};

/** The source of a filter's events and results. */
export type FilterSource = Readonly<{
  /** Starts to collect; the returned function ends it. */
  begin: (add: (change: unknown) => void) => () => void;
  /** All that it finds, for `eth_getFilterLogs`; undefined where it is no filter for logs. */
  all?: () => Promise<readonly unknown[]>;
  /** What its condition needs in memory; counts with what it collects. */
  bytes?: number;
}>;

type Filter = {
  readonly source: FilterSource;
  readonly usage: Usage;
  changes: unknown[];
  bytes: number;
  /** It exceeded its limit: some of its events are lost, so it returns none. */
  isFull: boolean;
  end: () => void;
};
type Usage = { readonly caller: string; filters: number; bytes: number };

/**
 * The filters that clients made: each collects events until the client reads them.
 *
 * A caller with too many is refused, without evicting a filter of another caller. A filter that is not read for five
 * minutes is deleted; one that exceeds its caller's limit ends, and reports that when it is read.
 */
export class Filters {
  readonly #bounds: FilterBounds;
  readonly #callers = new Map<string, Usage>();
  readonly #alive: LRUCache<string, Filter>;
  #bytes = 0;

  constructor(bounds: Partial<FilterBounds> = {}) {
    this.#bounds = { ...usual, ...bounds };
    const { ofAll: max, idleMs: ttl } = this.#bounds;
    const dispose = (filter: Filter): void => this.#forget(filter);
    this.#alive = new LRUCache({ max, ttl, ttlAutopurge: true, updateAgeOnGet: true, dispose });
  }

  /** Makes a filter and returns its id. Fails with an RpcError where its caller has too many, or all have. */
  add(caller: string, source: FilterSource): Hex {
    const usage = this.#callers.get(caller) ?? { caller, filters: 0, bytes: 0 };
    const { bytes = 0 } = source;
    const { ofCaller, ofAll } = this.#bounds;
    if (usage.filters >= ofCaller || this.#alive.size >= ofAll || this.#exceeds(usage, bytes))
      throw new RpcError(rpcCodes.limit, `too many filters (${usage.filters} of your own); uninstall some`);
    const id: Hex = `0x${randomBytes(16).toString('hex').replace(/^0+/, '')}`;
    const filter: Filter = { source, usage, changes: [], bytes: 0, isFull: false, end: () => undefined };
    usage.filters += 1;
    this.#count(usage, bytes);
    this.#callers.set(caller, usage);
    this.#alive.set(id, filter);
    filter.end = source.begin((change) => this.#collect(filter, change));
    return id;
  }

  /** What happened since it was read last. Fails with an RpcError where there is no such filter, or it is full. */
  changes(id: string): readonly unknown[] {
    const filter = this.#known(id);
    if (filter.isFull) {
      this.remove(id);
      throw new RpcError(rpcCodes.server, 'the filter collected more than it may hold and has ended; make a new one');
    }
    const { changes } = filter;
    this.#empty(filter);
    return changes;
  }

  /** All logs that match it. Fails with an RpcError where there is no such filter for logs. */
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

  #collect(filter: Filter, change: unknown): void {
    if (filter.isFull) return;
    const bytes = sizeOf(change);
    if (this.#exceeds(filter.usage, bytes)) {
      filter.isFull = true;
      this.#empty(filter);
      return;
    }
    filter.changes.push(change);
    filter.bytes += bytes;
    this.#count(filter.usage, bytes);
  }

  #exceeds({ bytes: own }: Usage, bytes: number): boolean {
    const { bytesOfCaller, bytesOfAll } = this.#bounds;
    return own + bytes > bytesOfCaller || this.#bytes + bytes > bytesOfAll;
  }

  #count(usage: Usage, bytes: number): void {
    usage.bytes += bytes;
    this.#bytes += bytes;
  }

  #empty(filter: Filter): void {
    this.#count(filter.usage, -filter.bytes);
    filter.bytes = 0;
    filter.changes = [];
  }

  #forget(filter: Filter): void {
    filter.end();
    this.#empty(filter);
    this.#count(filter.usage, -(filter.source.bytes ?? 0));
    filter.usage.filters -= 1;
    if (filter.usage.filters === 0) this.#callers.delete(filter.usage.caller);
  }

  #known(id: string): Filter {
    const filter = this.#alive.get(id.toLowerCase());
    if (!filter) throw notFound();
    return filter;
  }
}

/** About what a change needs in memory: a log by its data, and some hundred bytes for each. */
function sizeOf(change: unknown): number {
  const data = change !== null && typeof change === 'object' && 'data' in change ? change.data : '';
  return 500 + (typeof data === 'string' ? data.length : 0);
}

const notFound = (): RpcError => new RpcError(rpcCodes.server, 'filter not found');
