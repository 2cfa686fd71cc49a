import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { databaseRemedies } from '../../../src/engine/archive/database.ts';
import { createPools, withClient } from '../../../src/engine/models/pool.ts';
import { until } from '../polling.ts';
import { type Program, runProgram } from '../programs/run-program.ts';
import { runVerb } from '../programs/verb.ts';
import type { Truth } from './events.ts';
import type { Store } from './harm.ts';
import { isArchived, problemsOf } from './inspection.ts';

/** A program whose files are damaged, over all its starts. */
export type Victim = Readonly<{
  /** The run that goes on now. */
  program: () => Program;
  /** Files of tables and indexes of ours, relative to the database's folder. */
  tables: () => Promise<string[]>;
  /** Waits until the archive holds all, then ends the program in one of two ways, and its servers with it. */
  stop: (how: 'stop' | 'kill') => Promise<void>;
  start: () => Promise<void>;
  /**
   * Ends the server of one store while the program stands still, and lets it be started again when `meanwhile` is done.
   */
  restartServer: (store: Store, how: 'stop' | 'kill', meanwhile: () => string) => Promise<string>;
  /** Compares everything at once, as an operator would. */
  scrub: () => Promise<void>;
  /**
   * Waits until nothing is wrong, and starts the program again where its log asks for that; gives back what still is
   * wrong in the end.
   */
  mended: () => Promise<string[]>;
  /** How many lines all runs have logged so far. */
  logged: () => number;
  /** The first line since a place of all runs' logs that says that something was found, or something else. */
  said: (from: number, what?: RegExp) => string | undefined;
  /** The same, waited for a moment: a mending is told of once it is over. */
  heard: (from: number) => Promise<string | undefined>;
  /** Ends it and, unless it is to be looked at, removes its folder. */
  close: (options: Readonly<{ isKept: boolean }>) => Promise<void>;
}>;

const gently = { nats: 'SIGTERM', db: 'SIGINT' } as const satisfies Record<Store, NodeJS.Signals>;
const toldWithinMs = 5000;
const operatorAfterMs = 25_000;
const withinMs = 60_000;
const finding = /damage|repaired|differs from the log|lost events|made its tables|making its tables|set aside/;

/** Starts a program on a new folder and waits until all is sound. */
export async function openVictim(env: Readonly<Record<string, string>>, dataDir: string): Promise<Victim> {
  const truth: Truth = new Map();
  const start = (): Promise<Program> => runProgram({ dataDir, env });
  let program = await start();
  const earlier: Program['log'][number][] = [];
  const lines = (): Program['log'] => [...earlier, ...program.log];
  const startAnew = async (): Promise<void> => {
    earlier.push(...program.log);
    program = await start();
  };
  const stop = async (how: 'stop' | 'kill'): Promise<void> => {
    const { nats, postgres } = program.servers();
    await (how === 'kill' ? program.kill() : program.stop());
    await until('the servers have ended', () => [nats, postgres].every(isGone));
  };
  const mended = async (): Promise<string[]> => {
    let { problems, isToStart } = await untilSound(program, truth);
    if (isToStart) {
      await stop('stop');
      await startAnew();
      ({ problems } = await untilSound(program, truth));
    }
    return problems;
  };
  await program.untilReady();
  const before = await mended();
  if (before.length > 0) throw new Error(`Not sound before any damage: ${before.join('; ')}`);
  const said = (from: number, what = finding): string | undefined =>
    lines()
      .slice(from)
      .find(({ msg }) => what.test(msg))?.msg;
  return {
    program: () => program,
    tables: () => tablesOf(program),
    stop,
    start: startAnew,
    restartServer: (...how) => restartServer(program, ...how),
    scrub: async () => void (await runVerb(program.dataDir, 'scrub')),
    mended,
    logged: () => lines().length,
    said,
    heard: (from) => until('something is said', () => said(from), toldWithinMs).catch(() => undefined),
    close: async ({ isKept }) => {
      await program.stop();
      const text = lines()
        .map((line) => JSON.stringify(line))
        .join('\n');
      if (isKept) writeFileSync(path.join(dataDir, 'program.log'), text);
      else rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    },
  };
}

/** Waits until nothing is wrong, or the log asks for another start; gives back what still is wrong. */
async function untilSound(program: Program, truth: Truth): Promise<{ problems: string[]; isToStart: boolean }> {
  const began = performance.now();
  const ask = operator(program);
  const from = program.log.length;
  for (;;) {
    const isToStart = program.log.slice(from).some((line) => line['remedy'] === databaseRemedies.startAgain);
    const problems = await problemsOf(program, truth).catch((caught: unknown) => [String(caught)]);
    if (isBeingReplaced(program)) problems.push('the database is being checked or made anew');
    if (problems.length === 0) return { problems, isToStart: false };
    if (isToStart || performance.now() - began > withinMs) return { problems, isToStart };
    await ask(performance.now() - began);
    await pause(300);
  }
}

async function restartServer(
  program: Program,
  store: Store,
  how: 'stop' | 'kill',
  meanwhile: () => string,
): Promise<string> {
  const { nats, postgres } = program.servers();
  const pid = store === 'nats' ? nats : postgres;
  process.kill(program.pid, 'SIGSTOP');
  try {
    process.kill(pid, how === 'kill' ? 'SIGKILL' : gently[store]);
    await until('the server has ended', () => isGone(pid));
    return meanwhile();
  } finally {
    process.kill(program.pid, 'SIGCONT');
  }
}

/** What an operator does who was asked to: `annals repair`, once what repairs itself has had its time. */
function operator({ dataDir, log }: Program): (afterMs: number) => Promise<void> {
  const from = log.length;
  let hasActed = false;
  return async (afterMs) => {
    const isAsked = log.slice(from).some((line) => JSON.stringify(line).includes('annals repair'));
    if (hasActed || (!isAsked && afterMs < operatorAfterMs)) return;
    hasActed = true;
    await runVerb(dataDir, 'repair');
  };
}

/** Waits until everything that the log holds is archived, so that nothing is in one place alone. */
export async function untilArchived({ program }: Victim): Promise<void> {
  await until('everything is archived', () => isArchived(program()));
}

/** Whether it was said that the database will be set aside, and not yet that it is back. */
function isBeingReplaced({ log }: Program): boolean {
  const last = (part: string): number => log.findLastIndex(({ msg }) => msg.includes(part));
  return (
    last('it is set aside and made anew') > last('embedded server is back') ||
    last('it is checked again') > Math.max(last('files of the database are damaged'), last('the second check of'))
  );
}

async function tablesOf({ instance }: Program): Promise<string[]> {
  const pools = createPools(instance.postgres, { applicationName: 'campaign' });
  try {
    return await withClient(pools.read, async (client) => {
      const { rows } = await client.query<{ file: string }>(
        `select pg_relation_filepath(oid) as file from pg_class
          where oid >= 16384 and pg_relation_filepath(oid) is not null and pg_relation_size(oid) > 0`,
      );
      return rows.map(({ file }) => file);
    });
  } finally {
    await pools.end();
  }
}

/**
 * Whether a process has ended. Of a program that stands still nobody has heard yet that its server ended: that is gone
 * as well.
 */
export function isGone(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
