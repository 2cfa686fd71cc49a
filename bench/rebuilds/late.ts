import type pg from 'pg';
import type { Recorded } from '../../src/commands/ports.ts';
import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import type { FactSource } from '../../src/engine/models/engine/source.ts';
import { migrate } from '../../src/engine/models/migrate.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { actions } from '../../src/projections/actions/actions.ts';
import { actionFacts, transactionAt } from '../../test/support/histories/facts.ts';

/** A log of actions, each of which is finalized so many registrations later, and where it is rebuilt. */
export type LateLog = Readonly<{ config: pg.ClientConfig; network: string; actions: number; later: number }>;

/** What a verified rebuild took: facts read for each fact of the log, seconds, and the most that was resident. */
export type LateRebuild = Readonly<{ reads: number; seconds: number; residentMiB: number }>;

const workers = 500;
const time = '2026-01-01T00:00:00Z';

// Rebuilds the read model of actions as a process of its own, so that its memory is its own; the log is made up as it
// is read, the same facts at the same sequences each time.
const asked = JSON.parse(process.argv[2] ?? '{}') as LateLog;
process.on('disconnect', () => process.exit());
process.send?.(await rebuilt(asked));

async function rebuilt({ config, network, actions: count, later }: LateLog): Promise<LateRebuild> {
  const pools = createPools(config, { applicationName: 'annals bench' });
  await migrate({ pools, network });
  let read = 0;
  const source: FactSource = {
    head: async () => ({ incarnation: time, firstSequence: 1, lastSequence: 2 * count }),
    follow: async function* (_stream, after, { maxFacts = 1000, signal }) {
      let facts: Recorded[] = [];
      for (const one of factsAfter(after, count, later)) {
        if (signal.aborted) return;
        facts.push(one);
        if (facts.length < Math.min(maxFacts, 1000) && one.sequence < 2 * count) continue;
        read += facts.length;
        yield { facts, bytes: 0, behind: 2 * count - one.sequence };
        facts = [];
      }
    },
  };
  const began = performance.now();
  await rebuild({ pools, network, source, projection: actions, signal: new AbortController().signal });
  const seconds = (performance.now() - began) / 1000;
  await pools.end();
  return { reads: read / (2 * count), seconds, residentMiB: process.resourceUsage().maxRSS / 1024 };
}

/** Registrations, and each action's finalization as soon as so many later ones have come, or none come any more. */
function* factsAfter(after: number, count: number, later: number): Generator<Recorded> {
  const inTurns = Math.max(0, count - later);
  for (let sequence = after + 1; sequence <= 2 * count; sequence += 1) {
    const beyond = sequence - Math.min(later, count);
    if (beyond <= 0) yield recorded(sequence, registered(sequence));
    else if (beyond > 2 * inTurns) yield recorded(sequence, finalized(sequence - count));
    else if (beyond % 2 === 1) yield recorded(sequence, finalized((beyond + 1) / 2));
    else yield recorded(sequence, registered(later + beyond / 2));
  }
}

function recorded(sequence: number, fact: Recorded['fact']): Recorded {
  return { fact, sequence, id: `ACTIONS-${sequence}`, time };
}

function known(place: number) {
  return { creator: `lumera1creator${place % workers}`, transactions: [] };
}

function registered(place: number): Recorded['fact'] {
  return actionFacts(String(place), known(place)).registered({
    height: place,
    transaction: transactionAt(place),
    price: { denom: 'ulume', amount: '10000' },
  });
}

function finalized(place: number): Recorded['fact'] {
  const account = `lumera1node${place % workers}`;
  return actionFacts(String(place), known(place)).finalized({
    accounts: [account],
    payments: [{ account, denom: 'ulume', amount: '9000' }],
    transaction: transactionAt(place + 20),
  });
}
