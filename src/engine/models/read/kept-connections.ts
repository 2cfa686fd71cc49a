import type pg from 'pg';

/** A connection on loan: it may be in a transaction of its last user, which the next one has to end. */
export type Lent = Readonly<{ client: pg.PoolClient; since: number; isOpen: boolean }>;

/** Lends the connections of a pool to turns. */
export type KeptConnections = Readonly<{
  take: () => Promise<Lent>;
  /** Takes one back in its transaction, or closes it where a failure was seen on it. */
  giveBack: (lent: Lent, isSound: boolean) => void;
}>;

/** Turns follow each other closely where it matters; a transaction that waits longer would hold up who drops tables. */
const keptMs = 20;
/** The pool has to see each connection now and then: it lends them to others as well, and retires them. */
const longestMs = 1_000;

/**
 * Keeps connections between two turns, each in the transaction of the last one: the next turn ends it with its own
 * first words, so that PostgreSQL is woken once for both. Where none comes soon, it is ended and the connection is the
 * pool's again.
 */
export function keepConnections(pool: pg.Pool, end: (client: pg.PoolClient) => Promise<unknown>): KeptConnections {
  const kept: (Lent & Readonly<{ timer: NodeJS.Timeout }>)[] = [];
  const leave = ({ client }: Lent): void => {
    void end(client).then(
      () => client.release(),
      () => client.release(true),
    );
  };
  const giveBack = (lent: Lent, isSound: boolean): void => {
    if (!isSound) lent.client.release(true);
    else if (performance.now() - lent.since > longestMs) leave(lent);
    else {
      const timer = setTimeout(() => {
        kept.splice(kept.indexOf(one), 1);
        leave(one);
      }, keptMs);
      const one = { ...lent, isOpen: true, timer };
      kept.push(one);
    }
  };
  return {
    take: async () => {
      const one = kept.pop();
      clearTimeout(one?.timer);
      return one ?? { client: await pool.connect(), since: performance.now(), isOpen: false };
    },
    giveBack,
  };
}
