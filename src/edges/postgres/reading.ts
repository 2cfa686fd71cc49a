import type pg from 'pg';
import type { Reading } from '../../projections/reading.ts';
import { toReadError } from './database-error.ts';
import { type Generation, listGenerations } from './generations.ts';
import { type Live, type LiveGenerations, Moved, startLook } from './look.ts';
import { metaSchema } from './names.ts';
import { type Pools, sendAll } from './pool.ts';

/** Reads what projections made. */
export type Reader = Readonly<{
  /**
   * Runs queries against one snapshot of all live generations; their positions are of that same instant.
   *
   * `use` runs again where the generations turn out to be others than it was told, and only the last run counts. Fails with
   * `UNAVAILABLE` when PostgreSQL is away or its tables are being made, and when `use` asks for a projection that has no live generation yet.
   *
   * @example await reader.read(rounds)
   */
  read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T>;
  /** How every projection stands, its unfinished generations included. */
  generations: () => Promise<readonly Generation[]>;
}>;

const mostTries = 4;

/**
 * Makes the reader of a network; it opens nothing of its own.
 *
 * Queries leave together with the question where the generations stand, taken for what the look before found: most reads
 * take one round trip. Where the answer is another one, they are made anew.
 */
export function createReader({ pools, network }: { pools: Pools; network: string }): Reader {
  const snapshot = [
    { text: 'begin isolation level repeatable read, read only' },
    {
      name: `live.${network}`,
      text: `select projection, schema_name as schema, stream, incarnation, position
        from ${metaSchema(network)}.generations where status = 'live'`,
    },
  ];
  const reader = {};
  let known: LiveGenerations | undefined;
  const find = async (client: pg.PoolClient): Promise<LiveGenerations> => {
    const [, live] = await sendAll(client, snapshot);
    const rows: readonly Live[] = live?.rows ?? [];
    return (known = new Map(rows.map((row) => [row.projection, row])));
  };
  return {
    read: async (use) => {
      const client = await pools.read.connect().catch(fail);
      let ending: Promise<unknown> | undefined;
      try {
        for (let tries = 1; ; tries += 1) {
          const finding = find(client);
          finding.catch(() => undefined);
          const look = startLook(client, tries === 1 && known ? known : await finding, finding, reader);
          const [outcome] = await Promise.allSettled([use(look.reading)]);
          ending = client.query('commit');
          ending.catch(() => undefined);
          const isSound = await look.isSound();
          const isMoved = !isSound || (outcome.status === 'rejected' && outcome.reason instanceof Moved);
          if (isMoved && tries < mostTries) continue;
          if (outcome.status === 'rejected') throw outcome.reason;
          return outcome.value;
        }
      } catch (caught) {
        throw toReadError(caught);
      } finally {
        // Nobody has to wait for the end of the transaction.
        (ending ?? client.query('commit')).then(
          () => client.release(),
          () => client.release(true),
        );
      }
    },
    generations: () => listGenerations(pools.read, network).catch(fail),
  };
}

function fail(caught: unknown): never {
  throw toReadError(caught);
}
