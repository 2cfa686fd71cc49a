import { setTimeout as pause } from 'node:timers/promises';
import { createPools, type Pools } from '../../../src/engine/models/pool.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import { projections } from '../../../src/projections/all.ts';
import type { ChainStub } from '../chains/chain-stub.ts';
import { furtherRequests } from '../callers/further-requests.ts';
import { openProgramLog } from '../programs/program-log.ts';
import type { Random } from '../histories/random-history.ts';
import type { Program } from '../programs/run-program.ts';

/** What a harm may fall into the middle of. */
export const moments = ['sync', 'probing', 'replay', 'switch'] as const;
export type Moment = (typeof moments)[number];

/** Ends what was begun for the moment, once the harm is done. */
export type Over = () => Promise<void>;

type Scene = Readonly<{ program: Program; stub: ChainStub; random: Random }>;

const mostRequests = 40;
const probeWithinMs = 20_000;

/** Resolves in the middle of what is named, at a point that chance decides. */
export async function awaitMoment(moment: Moment, { program, stub, random }: Scene): Promise<Over> {
  const nothing = async (): Promise<void> => undefined;
  switch (moment) {
    case 'sync':
      await furtherRequests(stub, 1 + random.below(mostRequests));
      await pause(random.below(30));
      return nothing;
    case 'probing':
      await nextProbe(program);
      await pause(random.below(60));
      return nothing;
    case 'replay':
      return await rebuildUpTo(program, random, async () => await pause(random.below(250)));
    case 'switch':
      return await rebuildUpTo(program, random);
  }
}

/** Resolves with the next probe's fact: the others of its round are under way. */
async function nextProbe({ instance }: Program): Promise<void> {
  const log = await openProgramLog(instance);
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = log.watch(['probe'], () => resolve());
  await Promise.race([promise, pause(probeWithinMs)]);
  stop();
  await log.close();
}

/**
 * Rebuilds a read model beside the program, as `annals replay` does, and resolves as long after its beginning as told,
 * or else inside the transaction that switches over, which goes on a few moments later.
 */
async function rebuildUpTo({ instance }: Program, random: Random, later?: () => Promise<void>): Promise<Over> {
  const [first, ...others] = projections;
  if (!first) throw new Error('There is no projection');
  const projection = random.pick([first, ...others]);
  const log = await openProgramLog(instance);
  const pools = createPools(instance.postgres, { applicationName: 'campaign' });
  const stop = new AbortController();
  const there = Promise.withResolvers<void>();
  const head: typeof log.head = async (stream) => {
    if (later) void later().then(there.resolve);
    else if (await isSwitching(pools, instance.network, projection.name)) {
      there.resolve();
      await pause(random.below(40));
    }
    return log.head(stream);
  };
  const ended = rebuild({
    pools,
    projection,
    source: { ...log, head },
    network: instance.network,
    signal: stop.signal,
  }).then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([there.promise, ended]);
  return async () => {
    stop.abort();
    await ended;
    await Promise.allSettled([pools.end(), log.close()]);
  };
}

/** Whether somebody holds the row of the live generation: who switches over does, from the beginning to the end. */
async function isSwitching({ read }: Pools, network: string, projection: string): Promise<boolean> {
  const { rows } = await read.query(
    `select 1 from annals_${network}.generations where projection = $1 and status = 'live' for update skip locked`,
    [projection],
  );
  return rows.length === 0;
}
