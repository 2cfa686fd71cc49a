import { deepStrictEqual } from 'node:assert/strict';
import type { Recorded } from '../../../src/commands/ports.ts';
import type { Instance } from '../../../src/engine/servers/instance.ts';
import { streamOf } from '../../../src/events/catalogue.ts';
import { type StreamName, streams } from '../../../src/events/streams.ts';
import { sources } from '../../../src/events/words.ts';
import type { ChainState } from '../chains/chain-stub-state.ts';
import { checkActions, checkCounts, checkLinks, checkNodes, checkOnce, type Facts } from '../expected/log-checks.ts';
import { until } from '../polling.ts';
import { openProgramLog, type ProgramLog } from '../programs/program-log.ts';
import { checkTables, readTables } from '../expected/table-checks.ts';

/** Remembers every fact that a program's log has ever shown, and holds log and read models against the chain. */
export type Witness = Readonly<{
  /** Reads what is new, and checks all that can be checked while the chain goes on. */
  look: (instance: Instance) => Promise<void>;
  /** Once the chain stands still: waits until all is read, then reads the whole log anew and checks it to its end. */
  judge: (instance: Instance) => Promise<void>;
  /** How many facts it has seen. */
  seen: () => number;
}>;

const readWithinMs = 300_000;

/** Begins with an empty log. */
export function createWitness(chain: ChainState): Witness {
  const seen = Object.fromEntries(streams.map((stream) => [stream, []])) as unknown as Record<StreamName, Recorded[]>;
  const checkAll = (facts: Facts, whole: boolean): void => {
    checkActions(chain, facts, { whole });
    for (const what of ['SuperNode', 'Validator'] as const) checkNodes(chain, facts, { what, whole });
    checkOnce(facts);
    checkLinks(facts);
    checkCounts(facts);
  };
  return {
    look: async (instance) => {
      const tables = await readTables(instance);
      await withLog(instance, async (log) => {
        for (const stream of streams)
          seen[stream].push(...(await log.factsOf(stream, seen[stream].at(-1)?.sequence ?? 0)));
      });
      checkAll(seen, false);
      checkTables(tables, seen);
    },
    judge: async (instance) => {
      await withLog(instance, async (log) => {
        await until(
          'every source has been read to the head',
          async () => {
            const last = [...(await log.last('sync', sources)).values()].map(({ fact }) => fact);
            const isAtHead = last.every(
              ({ type, data }) => type === 'SyncRoundCompleted' && data.height === chain.height,
            );
            return last.length === sources.length && isAtHead;
          },
          readWithinMs,
        );
        // A program that was harmed at once has not seen much; nodes are probed on while the chain stands still.
        await until(`there is one of each: ${happenings.join(', ')}`, () => hasEach(log), readWithinMs);
        for (const stream of streams) {
          const all = await log.factsOf(stream);
          const before = seen[stream];
          deepStrictEqual(all.slice(0, before.length).map(named), before.map(named), `${stream} has changed`);
          seen[stream] = [...all];
        }
        checkAll(seen, true);
        await until('the read models have followed', async () => {
          const tables = await readTables(instance);
          return tables.every(({ stream, position }) => position >= (seen[stream].at(-1)?.sequence ?? 0));
        });
        const tables = await readTables(instance);
        for (const stream of streams)
          seen[stream].push(...(await log.factsOf(stream, seen[stream].at(-1)?.sequence ?? 0)));
        checkTables(tables, seen);
      });
    },
    seen: () => streams.reduce((sum, stream) => sum + seen[stream].length, 0),
  };
}

const named = ({ id, sequence }: Recorded): string => `${sequence} ${id}`;

/** What has to happen at least, so that a check checks something. */
const happenings = ['ActionFinalized', 'SuperNodeChanged', 'ProbeSucceeded', 'ProbeFailed'] as const;

async function hasEach(log: ProgramLog): Promise<boolean> {
  const told = new Set<string>();
  for (const stream of new Set(happenings.map(streamOf)))
    for (const { fact } of await log.factsOf(stream)) told.add(fact.type);
  return happenings.every((type) => told.has(type));
}

async function withLog<T>(instance: Instance, use: (log: ProgramLog) => Promise<T>): Promise<T> {
  const log = await openProgramLog(instance);
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
