import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fact } from '../../../src/events/catalogue.ts';
import type { Instance } from '../../../src/engine/servers/instance.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { openProgramLog } from '../programs/program-log.ts';

/** Writes to the broker through the program's own appender all the while, and remembers every acknowledgement. */
export type Scribe = Readonly<{
  acknowledged: () => number;
  /** Writes often again for a while; later each writer does so a few times a second. */
  goOn: () => void;
  /** Holds what is in the log against what was acknowledged: each once, at its place, none left out in between. */
  check: () => Promise<void>;
  /** Ends the writing; nothing is acknowledged any more. */
  stop: () => Promise<void>;
}>;

type Ack = Readonly<{ node: string; count: number }>;

/** A network of its own, so that nobody else writes what is checked. */
const network = 'scribe';
const writers = 8;
const oftenMs = 25;
const seldomMs = 250;
/** So many writes follow fast upon `goOn`: where everything takes longer, there is no more to check for it. */
const oftenAtOnce = 400;

/** Begins to write. Counts up on one entity per writer, each fact only where the one before it is the last. */
export async function startScribe(nats: Instance['nats']): Promise<Scribe> {
  const connection = await connectNats({ ...nats, name: 'campaign' });
  await ensureStreams(connection, network);
  const log = createLog(connection, network);
  /** By sequence; those that were not yet held against the log. */
  const due = new Map<number, Ack>();
  const places = new Map<number, string>();
  let acknowledged = 0;
  let oftenUpTo = oftenAtOnce;
  const read = new Map<string, number>();
  let checkedTo = 0;
  const stopped = new AbortController();

  const write = async (node: string): Promise<void> => {
    let [count, expected] = [0, 0];
    while (!stopped.signal.aborted) {
      await pause(acknowledged < oftenUpTo ? oftenMs : seldomMs);
      try {
        const at = new Date().toISOString();
        const next = { kind: 'probe', entity: node, facts: [countedFact(node, count + 1)], expected } as const;
        const { sequence } = await log.append([next], { at });
        if (stopped.signal.aborted) return;
        due.set(sequence, { node, count: count + 1 });
        acknowledged += 1;
        [count, expected] = [count + 1, sequence];
      } catch {
        // The outcome is unknown: what lies in the log now decides where to go on.
        const last = (await log.last('probe', [node]).catch(() => undefined))?.get(node);
        if (last) [count, expected] = [countIn(last.fact), last.sequence];
      }
    }
  };
  const writing = Promise.all(Array.from({ length: writers }, (_, at) => write(`writer${at}`)));
  return {
    acknowledged: () => acknowledged,
    goOn: () => {
      oftenUpTo = acknowledged + oftenAtOnce;
    },
    check: async () => {
      const promised = [...due];
      const found = await factsAfter(nats, checkedTo);
      for (const { node, count, sequence } of found) {
        deepStrictEqual(count, (read.get(node) ?? 0) + 1, `fact ${sequence} of ${node} is lost or doubled`);
        read.set(node, count);
        places.set(sequence, `${node} ${count}`);
      }
      checkedTo = found.at(-1)?.sequence ?? checkedTo;
      const lost = promised.filter(([sequence, { node, count }]) => places.get(sequence) !== `${node} ${count}`);
      deepStrictEqual(lost, [], 'acknowledged and not there');
      for (const [sequence] of promised) due.delete(sequence);
    },
    stop: async () => {
      stopped.abort();
      await connection.close();
      await writing;
    },
  };
}

async function factsAfter(nats: Instance['nats'], after: number): Promise<(Ack & { sequence: number })[]> {
  const reader = await openProgramLog({ nats, network });
  try {
    const facts = await reader.factsOf('PROBES', after);
    return facts.map(({ fact, sequence }) => ({
      sequence,
      node: (fact as Fact<'ProbeFailed'>).data.node,
      count: countIn(fact),
    }));
  } finally {
    await reader.close();
  }
}

function countedFact(node: string, count: number): Fact<'ProbeFailed'> {
  const known = { consecutiveFailures: count, services: [] };
  const at = '2026-01-01T00:00:00Z';
  return { type: 'ProbeFailed', data: { node, at, ports: [], tookMs: 0, statusAnswer: 'not_asked', known } };
}

const countIn = (fact: Fact): number => (fact as Fact<'ProbeFailed'>).data.known.consecutiveFailures;
