import { isProven, type StreamName, type StreamPolicies } from '../../../events/streams.ts';
import { toAppError } from '../../../kit/errors.ts';
import { createInTurn } from '../../../kit/in-turn.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import { isSame } from '../chain.ts';
import type { Checkpoint, Checkpoints, CheckpointMemory, Signed, StoredTree } from './checkpoints.ts';
import { consistencyRanges, emptyRoot, hashBytes } from './merkle.ts';
import { checkpointText, noteSigner, signersOf } from './notes.ts';
import { unknownEntry } from './tiles.ts';
import { treeHashes, type Trees } from './trees.ts';
import type { Cosign, Witness } from './witnesses.ts';

/** The key of a network's logs, and what their origins begin with. */
export type LogKey = Readonly<{ seed: Uint8Array; origin: string }>;

/** What signing takes. */
export type CheckpointSigning = Readonly<{
  network: string;
  policies: StreamPolicies;
  trees: Trees;
  checkpoints: Checkpoints;
  memory: CheckpointMemory;
  /** The key, or why there is none that may be used. */
  key: (known: readonly Signed[]) => Promise<LogKey | string>;
  /** Others that sign each checkpoint, and how to reach them. */
  witnesses: readonly Witness[];
  cosign: Cosign;
  log: Logger;
  intervalMs: number;
  /** Calls back at each request to sign now, until the returned function is called. */
  onRequest: (listener: () => void) => () => void;
}>;

/**
 * Signs checkpoints of all proven streams, each interval where a tree grew and when that is requested, until the signal
 * ends it. Only one process may do so: the one that keeps the archive.
 *
 * What cannot be signed is noted with its reason. Never fails.
 */
export async function keepCheckpoints(signing: CheckpointSigning, signal: AbortSignal): Promise<void> {
  const settled: Settled = new Map();
  const { intervalMs: everyMs, log } = signing;
  const inTurn = createInTurn();
  const round = (): Promise<void> => inTurn('round', () => signAll(signing, settled));
  const isRequested = { value: false };
  const endRequests = signing.onRequest(() => {
    if (isRequested.value) return;
    isRequested.value = true;
    const requested = inTurn('round', async () => {
      isRequested.value = false;
      await signAll(signing, settled);
    });
    requested.catch((caught: unknown) => log.warn({ err: toAppError(caught) }, 'checkpoints wait'));
  });
  await repeat('checkpoints wait', round, { everyMs, log, signal }).finally(endRequests);
}

/** What was seen of each stream when it needed nothing, so that it is not computed again before that changes. */
type Settled = Map<StreamName, string>;

/** Signs what grew of every proven stream. */
export async function signAll(signing: CheckpointSigning, settled: Settled = new Map()): Promise<void> {
  const { checkpoints, policies, memory, log } = signing;
  const [trees, last, refusals] = await Promise.all([
    checkpoints.trees(),
    checkpoints.last(),
    checkpoints.refusals().then((all) => new Map(all.map(({ stream, reason }) => [stream, reason]))),
  ]);
  const proven = trees.filter(({ stream }) => policies[stream] && isProven(policies[stream]));
  const remembered = await Promise.all(proven.map(async ({ stream }) => ({ ...(await memory.read(stream)), stream })));
  const known = (stream?: StreamName): Signed[] =>
    [
      ...last.filter((one) => stream === undefined || one.stream === stream),
      ...remembered.filter((one) => stream === undefined || one.stream === stream).map(({ signed }) => signed),
    ].filter((signed) => signed !== undefined);
  const key = await signing.key(known());
  for (const tree of proven) {
    const { stream } = tree;
    const before = known(stream);
    const seen = JSON.stringify([tree, key, before]);
    if (settled.get(stream) === seen) continue;
    const stored = last.find((one) => one.stream === stream);
    const revision = remembered.find((one) => one.stream === stream)?.revision ?? 0;
    const outcome = typeof key === 'string' ? key : await sign(signing, { tree, key, known: before, stored, revision });
    if (outcome !== 'incomplete') settled.set(stream, seen);
    const refused = outcome === 'incomplete' ? undefined : outcome;
    if (refused === refusals.get(stream)) continue;
    await checkpoints.refuse(stream, refused);
    if (refused !== undefined) log.error({ stream, reason: refused }, 'no checkpoint is signed');
  }
}

type Case = Readonly<{
  tree: StoredTree;
  key: LogKey;
  known: readonly Signed[];
  /** The last one in the database. */
  stored: Checkpoint | undefined;
  revision: number;
}>;

/** Signs a tree that grew; gives back why it may not be signed, or `incomplete` where a witness has not signed yet. */
async function sign(
  signing: CheckpointSigning,
  { tree, key, known, stored, revision }: Case,
): Promise<string | undefined> {
  const { stream, incarnation, leaves } = tree;
  const ofThisLife = known.filter((one) => one.incarnation === incarnation);
  const epoch = Math.max(1, ...ofThisLife.map((one) => one.epoch));
  const before = ofThisLife.filter((one) => one.epoch === epoch && one.origin !== '');
  const next = await epochOf(signing, tree, { before, epoch, origin: originOf(signing, key, { ...tree, epoch }) });
  if (typeof next === 'string') return next;
  const origin = originOf(signing, key, { ...tree, epoch: next });
  const isKnown = stored?.origin === origin && stored.size === leaves;
  const isWitnessed = witnessesOf(signing, stream).every(({ name }) => stored && signersOf(stored.note).includes(name));
  if (isKnown && isWitnessed && revision !== 0) return undefined;
  if (before.length === 0 && known.length > 0) signing.log.warn({ stream, origin }, 'a log begins under a new origin');
  const root = await rootOf(signing, stream, leaves);
  const signer = noteSigner(origin, key.seed);
  const signed: Signed = { incarnation, epoch: next, origin, vkey: signer.vkey, size: leaves, root };
  if (!(await signing.memory.write(stream, signed, revision))) return undefined;
  const note = signer.sign(checkpointText(signed));
  const { lines, forks } = await cosignatures(signing, stream, { ...signed, note });
  if (forks.length > 0) return forks.join(' ');
  await signing.checkpoints.record(stream, signed, note + lines.join(''));
  return lines.length < witnessesOf(signing, stream).length ? 'incomplete' : undefined;
}

/** Others learn of public logs only: sizes and times of a private one are private. */
function witnessesOf({ witnesses, policies }: CheckpointSigning, stream: StreamName): readonly Witness[] {
  return policies[stream]?.proven === 'public' ? witnesses : [];
}

/** Asks all witnesses at once; those that do not sign are asked again with the next interval. */
async function cosignatures(
  signing: CheckpointSigning,
  stream: StreamName,
  { origin, size, note }: Signed & Readonly<{ note: string }>,
): Promise<Readonly<{ lines: readonly string[]; forks: readonly string[] }>> {
  const { cosign, trees, log } = signing;
  const hashOf = treeHashes(trees, stream, size);
  const proofFrom = async (old: number): Promise<readonly Uint8Array[]> =>
    await Promise.all(consistencyRanges(old, size).map(hashOf));
  const all = await Promise.all(
    witnessesOf(signing, stream).map((one) => cosign(one, { origin, size, note, proofFrom })),
  );
  for (const one of all)
    if ('failure' in one && one.failure !== undefined)
      log.warn({ stream, reason: one.failure }, 'a witness did not sign');
  return {
    lines: all.flatMap((one) => ('line' in one ? [one.line] : [])),
    forks: all.flatMap((one) => ('fork' in one ? [one.fork] : [])),
  };
}

type Earlier = Readonly<{ before: readonly Signed[]; epoch: number; origin: string }>;

/**
 * The epoch that a tree may be signed in: the one that it extends every checkpoint of, or a new one where events that
 * were signed are not known any more. A sentence where it may not be signed.
 */
async function epochOf(
  signing: CheckpointSigning,
  { stream, leaves }: StoredTree,
  { before, epoch, origin }: Earlier,
): Promise<number | string> {
  for (const signed of before) {
    if (signed.origin !== origin)
      return `The checkpoint of ${signed.size} events was signed as ${signed.origin}, and the key or LOG_ORIGIN says ${origin}: set them to what signed before, or begin anew (annals rekey).`;
    if (leaves < signed.size)
      return `A checkpoint of ${signed.size} events was signed, and the tree has ${leaves}: nothing smaller is signed.`;
    if (isSame(await rootOf(signing, stream, signed.size), signed.root)) continue;
    if (await lacksEntries(signing, stream, signed.size)) {
      signing.log.warn({ stream, size: signed.size }, 'events that were signed are not known any more: a new epoch');
      return epoch + 1;
    }
    return `The tree is another one than that of the checkpoint of ${signed.size} events: nothing is signed.`;
  }
  return epoch;
}

function originOf(
  { network }: CheckpointSigning,
  { origin }: LogKey,
  { stream, incarnation, epoch }: Pick<StoredTree, 'stream' | 'incarnation'> & Readonly<{ epoch: number }>,
): string {
  return `${origin}/${network}/${stream}/${incarnation}${epoch === 1 ? '' : `/${epoch}`}`;
}

async function rootOf({ trees }: CheckpointSigning, stream: StreamName, size: number): Promise<Uint8Array> {
  return size === 0 ? emptyRoot : await treeHashes(trees, stream, size)({ start: 0, end: size });
}

const tilesAtOnce = 64;

/** Whether nothing is known of one of the first entries. */
async function lacksEntries({ trees }: CheckpointSigning, stream: StreamName, size: number): Promise<boolean> {
  for (let from = 0; from * 256 < size; from += tilesAtOnce) {
    const stored = await trees.tiles(stream, { level: 0, from, until: from + tilesAtOnce });
    const wanted = Math.min(stored.length, (size - from * 256) * hashBytes);
    for (let at = 0; at < wanted; at += hashBytes)
      if (isSame(stored.subarray(at, at + hashBytes), unknownEntry)) return true;
  }
  return false;
}
