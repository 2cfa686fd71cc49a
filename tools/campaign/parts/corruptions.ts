import { setTimeout as pause } from 'node:timers/promises';
import { type Random, seeded } from '../../../test/support/histories/random-history.ts';
import { beginChain } from '../../../test/support/victim/chain.ts';
import { type Aim, harm, harms, stores } from '../../../test/support/victim/harm.ts';
import { openVictim, untilArchived, type Victim } from '../../../test/support/victim/victim.ts';
import type { PartOptions, Tally } from '../part.ts';

/** Closer together than by default, so that many fit into an hour. */
const settings = {
  ACTIONS_SYNC_INTERVAL: '2s',
  SUPERNODES_SYNC_INTERVAL: '4s',
  VALIDATORS_SYNC_INTERVAL: '6s',
  PROBE_INTERVAL: '10s',
  SCRUB_INTERVAL: '2s',
};
/** A running program finds most damages within this; where it does not, one server is started anew. */
const foundWithinMs = 5000;
/** After so many a new program begins with an empty folder, so that each look stays short. */
const harmsOfVictim = 40;
const liveShare = 0.75;
/** How a damage falls: between two starts of the whole program, or of the one server, or under both as they run. */
const shares = { start: 0.08, restart: { nats: 0.7, db: 0.35 } };
/**
 * What became of one damage: found and mended while the program ran or at the start after it; found and mended only at
 * a start after it had run on (a bucket of the broker, which it has in memory); nothing harmed, which a start and a
 * look at everything showed; or not mended.
 */
const outcomes = ['mended', 'mended at the next start', 'harmless', 'failed'] as const;
type Outcome = (typeof outcomes)[number];
type Result = Readonly<{ outcome: Outcome; did: string; saying: string }>;

/**
 * Damages one file of the stores at a time: flips a bit, cuts it, deletes it, in turn, under a running program or
 * between two starts.
 *
 * Each time everything that was ever seen must be there again within a minute of the damage, or of the start after it.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const chain = await beginChain(seed);
  const counts = new Map<string, number>();
  let victim: Victim | undefined;
  try {
    for (let at = 0; at < count; at++) {
      const random = seeded(seed * 1000 + at);
      victim ??= await openVictim({ ...settings, CHAIN_API_BASE: chain.stub.url }, chain.newFolder());
      const began = performance.now();
      const { outcome, did, saying } = await once(victim, at, random).catch(failed);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      log(`${at + 1} ${did}: ${outcome.toUpperCase()} in ${seconds} s; ${saying}`);
      for (const key of [outcome, `${did.split(' ').slice(0, 2).join(' ')} ${outcome}`])
        counts.set(key, (counts.get(key) ?? 0) + 1);
      const isFailed = outcome === 'failed';
      if (isFailed) log(`its folder is kept: ${victim.program().dataDir}`);
      if (isFailed || at % harmsOfVictim === harmsOfVictim - 1) {
        await victim.close({ isKept: isFailed });
        victim = undefined;
      }
    }
  } finally {
    for (const [key, times] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))) log(`${times} ${key}`);
    await victim?.close({ isKept: false });
    await chain.stop();
  }
  const failures = counts.get('failed') ?? 0;
  return { passed: count - failures, failed: failures };
}

function failed(caught: unknown): Result {
  return { outcome: 'failed', did: 'something went wrong', saying: String(caught) };
}

async function once(victim: Victim, at: number, random: Random): Promise<Result> {
  const store = stores[at % stores.length] ?? 'db';
  const kind = harms[Math.floor(at / stores.length) % harms.length] ?? 'flip';
  const aim = { store, kind, isLive: random.chance(liveShare), tables: await victim.tables() };
  await untilArchived(victim);
  const doing = { victim, aim, random, how: random.chance(0.5) ? ('kill' as const) : ('stop' as const) };
  if (random.chance(shares.start)) return betweenStarts(doing);
  return random.chance(shares.restart[store]) ? betweenServers(doing) : whileRunning(doing);
}

type Doing = Readonly<{ victim: Victim; aim: Aim; random: Random; how: 'stop' | 'kill' }>;
const ended = { kill: 'kill -9', stop: 'a stop' } as const;

async function betweenStarts({ victim, aim, random, how }: Doing): Promise<Result> {
  await victim.stop(how);
  const did = `${harm(victim.program().folder, aim, random)} after ${ended[how]} of all`;
  await victim.start();
  return judged(victim, did, { from: 0, mended: 'mended' });
}

async function betweenServers({ victim, aim, random, how }: Doing): Promise<Result> {
  const from = victim.logged();
  const harmed = await victim.restartServer(aim.store, how, () => harm(victim.program().folder, aim, random));
  return judged(victim, `${harmed} after ${ended[how]} of the server`, { from, mended: 'mended' });
}

type Judging = Readonly<{ from: number; mended: Outcome }>;

async function judged(victim: Victim, did: string, { from, mended }: Judging): Promise<Result> {
  const problems = await victim.mended();
  if (problems.length > 0) return { outcome: 'failed', did, saying: problems.join('; ') };
  const said = await victim.heard(from);
  return { outcome: said === undefined ? 'harmless' : mended, did, saying: said ?? 'nothing to be found' };
}

/**
 * What a server has in memory it reads again when it starts: the damage is found by the comparison, or at that start.
 */
async function whileRunning({ victim, aim, random, how }: Doing): Promise<Result> {
  const from = victim.logged();
  const did = `${harm(victim.program().folder, aim, random)} while running`;
  await victim.scrub();
  const deadline = performance.now() + foundWithinMs;
  while (victim.said(from) === undefined && performance.now() < deadline) await pause(100);
  const first = await judged(victim, did, { from, mended: 'mended' });
  // A server that has the pages of a file in memory may find its damage once, and not again before its next start.
  const isTakenBack = victim.said(from, /the second check of the database/) !== undefined;
  if (first.outcome === 'failed' || (first.outcome === 'mended' && !isTakenBack)) return first;
  await untilArchived(victim);
  await victim.restartServer(aim.store, how, () => '');
  return judged(victim, did, { from, mended: 'mended at the next start' });
}
