import { sources } from '../../src/events/words.ts';
import { until } from '../support/polling.ts';
import { type Program, type ProgramOptions, startProgram } from '../support/programs/program.ts';
import { openProgramLog, type ProgramLog, untilFollowed } from '../support/programs/program-log.ts';
import { type RecordedChain, startRecordedChain } from '../support/chains/recorded-chain.ts';

/** A body, to look into. */
export type Json = Readonly<Record<string, unknown>>;

/** The recorded chain, the program that reads it, and its log. */
export type Indexing = Readonly<{
  chain: RecordedChain;
  program: Program;
  log: ProgramLog;
  /** The body of an answer; fails where it is not 200. */
  get: (path: string) => Promise<Json>;
  /** Makes the chain stand at a step, and waits until every source has read it and every read model knows. */
  goTo: (step: number) => Promise<void>;
  close: () => Promise<void>;
}>;

const intervals = {
  ACTIONS_SYNC_INTERVAL: '150ms',
  SUPERNODES_SYNC_INTERVAL: '150ms',
  VALIDATORS_SYNC_INTERVAL: '150ms',
  PROBE_INTERVAL: '300ms',
};

/** Starts the recorded chain at a step, and the program, with an empty log, over it. */
export async function startIndexing(step: number, options: ProgramOptions = {}): Promise<Indexing> {
  const chain = await startRecordedChain();
  chain.goTo(step);
  const program = await startProgram({ ...options, env: { ...intervals, ...options.env, CHAIN_API_BASE: chain.url } });
  await program.untilReady();
  const log = await openProgramLog(program.instance);
  return {
    chain,
    program,
    log,
    get: async (path) => {
      const response = await fetch(program.base + path);
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as Json;
    },
    goTo: async (number) => {
      chain.goTo(number);
      await until(`every source has read step ${number}`, () => haveRead(log, chain.height()));
      await untilFollowed(program.base, log);
    },
    close: async () => {
      await log.close();
      await program.stop();
      await chain.close();
    },
  };
}

async function haveRead(log: ProgramLog, height: number): Promise<boolean> {
  const last = [...(await log.last('sync', sources)).values()].map(({ fact }) => fact);
  const read = last.filter((fact) => fact.type === 'SyncRoundCompleted' && fact.data.height === height);
  return read.length === sources.length;
}
