import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type EmbeddedNats, startNats } from '../src/engine/servers/nats/nats-server.ts';
import { type EmbeddedPostgres, startPostgres } from '../src/engine/servers/postgres/postgres.ts';
import { openPeer, type Peer } from './peer.ts';
import { type Contender, inTurn } from './rounds.ts';
import type { Figures, Row } from './row.ts';

/** How much is measured: `quick` makes every size small, to see that it runs rather than how fast. */
export type Amount = Readonly<{
  rounds: number;
  quick: boolean;
  /** Among how many actions the reads are asked; left out, as many as the targets are about. */
  actions?: number | undefined;
}>;

/** What the rows of a group are given. Everything that it starts is its own and ends with the group. */
export type Context = Amount &
  Readonly<{
    /** Aborts when the bench is to end early. */
    signal: AbortSignal;
    /** Progress for whoever waits; never standard output. */
    say: (line: string) => void;
    /** One size for the bench, a small one for `quick`. */
    size: (full: number, quick: number) => number;
    /** A new folder that goes away with the group. */
    folder: (name: string) => Promise<string>;
    /** Runs when the group is done, the last one first. */
    defer: (end: () => unknown) => void;
    /** The group's broker: `strict` writes to disk before each acknowledgement, as the program's own does. */
    nats: (grade: 'strict' | 'relaxed') => Promise<EmbeddedNats>;
    /** The group's PostgreSQL, as durable as the program's own. */
    postgres: () => Promise<EmbeddedPostgres>;
    /** A peer's program; fails with a word why when it cannot be installed or started. */
    peer: (name: string) => Promise<Peer>;
    /** Measures in turn with the group's rounds. */
    inTurn: (better: Row['better'], ours: Contender, openPeer?: () => Promise<Contender>) => Promise<Figures>;
  }>;

/** Rows that share what they need; makes nothing before one of them is measured. */
export type Group = (context: Context) => readonly Row[];

/** Gives a group its context and ends all that it started, also after a failure. */
export async function withContext<T>(
  options: Amount & Pick<Context, 'signal' | 'say'>,
  use: (context: Context) => Promise<T>,
): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const { rounds, quick, signal, say } = options;
  const defer = (end: () => unknown): void => stack.defer(async () => void (await end()));
  const folder = async (name: string): Promise<string> => {
    signal.throwIfAborted();
    const made = await mkdtemp(path.join(tmpdir(), `annals-bench-${name}-`));
    // PostgreSQL may run as another user than ours.
    await chmod(made, 0o711);
    defer(() => rm(made, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
    return made;
  };
  const stopped = <Server extends { stop: () => Promise<void> }>(server: Server): Server => {
    defer(() => server.stop());
    return server;
  };
  const broker = async (ephemeral: boolean): Promise<EmbeddedNats> => {
    const dir = await folder('nats');
    return stopped(await startNats({ dir, host: '127.0.0.1', port: 0, wsPort: 0, ephemeral, say, signal }));
  };
  const strict = once(() => broker(false));
  const relaxed = once(() => broker(true));
  const peers = new Map<string, Promise<Peer>>();
  return await use({
    ...options,
    size: (full, small) => (quick ? small : full),
    folder,
    defer,
    nats: (grade) => (grade === 'strict' ? strict() : relaxed()),
    postgres: once(async () => stopped(await startPostgres({ dir: await folder('pg'), say, signal }))),
    peer: (name) => {
      const opened = peers.get(name) ?? openPeer(name, { say, signal }).then(stopped);
      peers.set(name, opened);
      return opened;
    },
    inTurn: (better, ours, peer) => inTurn({ rounds, warmUp: !quick, better, say }, ours, peer),
  });
}

/** Makes something at the first call and gives back the same from then on. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
