import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { CascadeChain } from '../../chain/files/chain.ts';
import { parseBounded } from '../../../kit/bounded-json.ts';
import { writeAll } from '../../../kit/durable.ts';
import type { ActionVerdict } from './sweep.ts';

/** Queries the chain which stored files stay. */
export type Evidence = Readonly<{
  /** Reads the chain's head once and returns a function that decides by it. */
  pass: () => Promise<ActionVerdict>;
}>;

/** A block that a chain has shown. */
type SeenHead = Readonly<{ height: number; time: string }>;

/** What evidence is gathered from; the highest block that the chain has shown is written into `folder`. */
export type EvidenceOptions = Readonly<{
  chain: Pick<CascadeChain, 'action' | 'head'>;
  folder: string;
  now?: () => number;
}>;

const apartMs = 7_200_000;
const fileOfHead = 'chain-head';

/**
 * A file stays for good once the chain has its action done or approved. It goes only after the chain has reported
 * twice, two hours apart and at two heights, that its action is pending or expired.
 *
 * Neither counts at a head that is behind the highest one that this node has ever seen, in height or in time: a chain
 * that has halted, or was restored from a snapshot, knows nothing of what was finalized since. Actions are read at the
 * very height of the head, so that another replica behind the same address cannot answer for an older one.
 */
export function createEvidence({ chain, folder, now = () => Date.now() }: EvidenceOptions): Evidence {
  const file = path.join(folder, fileOfHead);
  const first = new Map<string, Readonly<{ atMs: number; height: number }>>();
  let judged = new Set<string>();
  let seen: SeenHead | undefined;
  const confirmed = (actionId: string, height: number): boolean => {
    const before = first.get(actionId) ?? { atMs: now(), height };
    first.set(actionId, before);
    return now() - before.atMs >= apartMs && height > before.height;
  };
  return {
    pass: async () => {
      const head = await chain.head().catch(() => undefined);
      if (!head) return async () => 'unknown';
      seen ??= await readSeen(file);
      const isBehind = seen !== undefined && (head.height < seen.height || isEarlier(head.time, seen.time));
      if (!isBehind && (seen === undefined || head.height > seen.height)) {
        seen = { height: head.height, time: head.time };
        await writeAll(file, Buffer.from(JSON.stringify(seen)), path.join(folder, 'incoming'));
      }
      // A file that the last pass did not judge has gone, or has come anew: what was seen before concerns it no more.
      for (const actionId of first.keys()) if (!judged.has(actionId)) first.delete(actionId);
      judged = new Set();
      return async (actionId, where) => {
        if (where === 'stored') judged.add(actionId);
        const state = await chain.action(actionId, head.height).then(
          (action) => action?.record.chainState,
          () => undefined,
        );
        if (state === 'done' || state === 'approved') {
          first.delete(actionId);
          return 'stays';
        }
        if (where === 'trash' || isBehind || (state !== 'pending' && state !== 'expired')) return 'unknown';
        return confirmed(actionId, head.height) ? 'goes' : 'unknown';
      };
    },
  };
}

function isEarlier(a: string, b: string): boolean {
  return Date.parse(a) < Date.parse(b);
}

/** The head that an earlier run has seen; undefined where the file cannot be read. */
async function readSeen(file: string): Promise<SeenHead | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const read = parseBounded(text, { depth: 1, values: 10 });
    if (typeof read !== 'object' || read === null) return undefined;
    const { height, time }: Partial<Record<keyof SeenHead, unknown>> = read;
    return typeof height === 'number' && typeof time === 'string' ? { height, time } : undefined;
  } catch {
    // The next head is written over it.
    return undefined;
  }
}
