import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../../test/support/polling.ts';
import { type Program, runProgram } from '../../../test/support/run-program.ts';
import { type Random, seeded } from '../../../test/support/random-history.ts';
import { beginChain } from '../corruptions/chain.ts';
import type { Truth } from '../corruptions/events.ts';
import { harm, harms, stores } from '../corruptions/harm.ts';
import { isArchived, problemsOf } from '../corruptions/inspection.ts';
import type { PartOptions, Tally } from '../part.ts';

const withinMs = 60_000;
/** Closer together than by default, so that many fit into an hour. */
const scrubIntervalMs = 2000;
const settings = {
  ACTIONS_SYNC_INTERVAL: '1s',
  SUPERNODES_SYNC_INTERVAL: '2s',
  VALIDATORS_SYNC_INTERVAL: '3s',
  PROBE_INTERVAL: '5s',
  SCRUB_INTERVAL: `${scrubIntervalMs}ms`,
};
/** Lines of the program's log that say that something was found. */
const finding = /damage|mended|differs from the log|lost events|made its tables|making its tables/;

type Harmed = {
  program: Program;
  readonly start: () => Promise<Program>;
  readonly random: Random;
  readonly truth: Truth;
};

/**
 * Damages one file of the stores at a time: flips a bit, cuts it, deletes it, in turn, under a running program or between two starts.
 *
 * Each time everything that was ever seen must be there again within a minute, also after a further start.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const chain = await beginChain(seed);
  const tally = { passed: 0, failed: 0 };
  let dataDir = '';
  let harmed: Harmed | undefined;
  try {
    for (let at = 0; at < count; at++) {
      if (!harmed) {
        dataDir = chain.newFolder();
        harmed = await begin({ ...settings, CHAIN_API_BASE: chain.stub.url }, dataDir, seeded(seed + 1 + at));
      }
      const { what, problems } = await once(harmed, at);
      log(`${at + 1} ${what}${problems.length > 0 ? `; NOT MENDED: ${problems.join('; ')}` : ''}`);
      if (problems.length === 0) tally.passed += 1;
      else tally.failed += 1;
      if (problems.length > 0) harmed = await end(harmed, dataDir, { keep: true });
    }
    return tally;
  } finally {
    if (harmed) await end(harmed, dataDir, { keep: false });
    await chain.stop();
  }
}

async function begin(env: Readonly<Record<string, string>>, dataDir: string, random: Random): Promise<Harmed> {
  const start = (): Promise<Program> => runProgram({ dataDir, env });
  const harmed: Harmed = { program: await start(), start, random, truth: new Map() };
  await harmed.program.untilReady();
  const problems = await mended(harmed);
  if (problems.length > 0) throw new Error(`Not sound before any damage: ${problems.join('; ')}`);
  return harmed;
}

/** What was left behind by a failure is kept to be looked at. */
async function end({ program }: Harmed, dataDir: string, { keep }: { keep: boolean }): Promise<undefined> {
  await program.stop();
  if (!keep) rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
}

async function once(harmed: Harmed, at: number): Promise<{ what: string; problems: string[] }> {
  const { random } = harmed;
  const store = random.pick(stores);
  const kind = harms[at % harms.length] ?? 'flip';
  const isRunning = random.chance(0.5);
  if (!isRunning) await stopped(harmed);
  const seen = harmed.program.log.length;
  const began = performance.now();
  const did = harm(harmed.program.folder, store, kind, random);
  if (isRunning) await pause(2 * scrubIntervalMs);
  else harmed.program = await harmed.start();
  let problems = await mended(harmed);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const said = harmed.program.log.slice(isRunning ? seen : 0).find(({ msg }) => finding.test(msg));
  let how = said ? `"${said.msg.slice(0, 90)}"` : 'nothing was harmed by it';
  if (isRunning && problems.length === 0) {
    await stopped(harmed);
    harmed.program = await harmed.start();
    problems = await mended(harmed);
    const later = harmed.program.log.find(({ msg }) => finding.test(msg));
    if (!said && later) how = `found at the next start: "${later.msg.slice(0, 90)}"`;
  }
  return { what: `${isRunning ? 'running' : 'stopped'}: ${did}; sound after ${seconds} s; ${how}`, problems };
}

/** Ends the program in one of two ways, and waits for its servers to be gone. */
async function stopped({ program, random }: Harmed): Promise<void> {
  await until('everything is archived', () => isArchived(program));
  const { nats, postgres } = program.servers();
  if (random.chance(0.5)) await program.kill();
  else await program.stop();
  await until('the servers have ended', () => [nats, postgres].every(isGone));
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Waits until nothing is wrong; gives back what still is in the end. */
async function mended(harmed: Harmed): Promise<string[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const problems = await problemsOf(harmed.program, harmed.truth).catch((caught: unknown) => [String(caught)]);
    if (problems.length === 0 || performance.now() > deadline) return problems;
    await pause(300);
  }
}
