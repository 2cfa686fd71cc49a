import { setTimeout as pause } from 'node:timers/promises';
import { archivedStreams, bothStoresOf } from '../../../src/engine/archive/archive.ts';
import { streamInfo } from '../../../src/engine/archive/chain.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import type { Random } from '../histories/random-history.ts';
import { until } from '../polling.ts';
import type { Program } from '../programs/run-program.ts';
import { type Harm, harm } from '../victim/harm.ts';
import { isGone } from '../victim/victim.ts';

/** What is done to which stream. */
export type LogHarm = Readonly<{ stream: StreamName; kind: Harm }>;

const withinMs = 60_000;

/**
 * Ends nats-server under a running program, damages a file of a stream, and lets the server be started again; gives
 * what was done.
 *
 * The program stands still meanwhile, and does so at a moment at which the archive holds all of every stream: a server
 * that ends may also lose what was written behind a damage that nobody has noticed yet, and what lies in one place
 * alone nothing could bring back.
 */
export async function harmLog(program: Program, { stream, kind }: LogHarm, random: Random): Promise<string> {
  const { nats } = program.servers();
  const did = await standingStill(program, async () => {
    process.kill(nats, random.chance(0.5) ? 'SIGKILL' : 'SIGTERM');
    await until('nats-server has ended', () => isGone(nats));
    const part = `${stream}_${program.instance.network}/msgs`;
    return harm(program.folder, { store: 'nats', kind, isLive: true, tables: [], part }, random);
  });
  await until('nats-server runs again', () => ![0, nats].includes(program.servers().nats), withinMs);
  return did;
}

async function standingStill<T>(program: Program, work: () => Promise<T>): Promise<T> {
  const { nats, network, postgres } = program.instance;
  const nc = await connectNats({ ...nats, name: 'harm' });
  const pools = createPools(postgres, { applicationName: 'harm' });
  const stores = bothStoresOf(nc, { network, pools });
  const isArchivedWhole = async (stream: StreamName): Promise<boolean> => {
    const [head, info] = await Promise.all([stores.store.head(stream), streamInfo(stores, stream)]);
    return (head?.position ?? 0) >= (info?.state.last_seq ?? Infinity);
  };
  const isWhole = async (): Promise<boolean> =>
    (await Promise.all(archivedStreams(stores).map(isArchivedWhole))).every(Boolean);
  try {
    for (;;) {
      process.kill(program.pid, 'SIGSTOP');
      if (await isWhole()) return await work();
      process.kill(program.pid, 'SIGCONT');
      await pause(50);
    }
  } finally {
    process.kill(program.pid, 'SIGCONT');
    await Promise.allSettled([nc.close(), pools.end()]);
  }
}
