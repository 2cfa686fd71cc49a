import type { FastifyReply } from 'fastify';
import { type DependsOn, hasChangedSince } from '../../../projections/actions/changed-actions.ts';
import { notModified, type Read, type ReadScope, type ReadSnapshot } from './reads.ts';

/** Answers a read as `Read` does, with what the same address was answered before while that is what it would be now. */
export type CachedRead = (
  reply: FastifyReply,
  scope: ReadScope,
  answer: (snapshot: ReadSnapshot) => Promise<object>,
) => Promise<FastifyReply>;

type CachedAnswer = {
  /** The entity tag of the last snapshot that the answer was that of. */
  tag: string;
  /** Everything that it depends on but the actions. */
  readonly others: string;
  /** The position of the actions at that snapshot. */
  actionsAt: number;
  /** What it depends on of the actions; undefined where any change may change it, and until it is made. */
  dependsOn: DependsOn | undefined;
  readonly body: Promise<Buffer>;
  bytes: number;
};

const mostBytes = 16 * 2 ** 20;
/** The memory of an answer besides its address and its body. */
const ownBytes = 500;

/**
 * Caches the last answers, each until something changes that it depends on.
 *
 * An answer holds at the snapshot with its entity tag, and at a later one where nothing changed in between but actions
 * that it does not depend on. Each request reads the positions from the database, so an answer is never older than any
 * other read. Requests for the same one wait for the first. Refusals are not cached.
 */
export function cacheAnswers(read: Read): CachedRead {
  const cached = new Map<string, CachedAnswer>();
  let bytes = 0;
  const drop = (url: string, one: CachedAnswer | undefined): void => {
    if (!one || cached.get(url) !== one) return;
    cached.delete(url);
    bytes -= one.bytes;
  };
  /** Puts an answer last in the order of eviction, and evicts the first ones until all fit. */
  const put = (url: string, one: CachedAnswer, more: number): void => {
    drop(url, cached.get(url));
    one.bytes += more;
    bytes += one.bytes;
    cached.set(url, one);
    for (const [first, other] of cached) {
      if (bytes <= mostBytes) return;
      drop(first, other);
    }
  };
  const make = async (
    url: string,
    scope: ReadScope,
    snapshot: ReadSnapshot,
    answer: (snapshot: ReadSnapshot) => Promise<object>,
  ): Promise<Buffer> => {
    let dependsOn: DependsOn | undefined;
    const made = confirmed({ ...snapshot, dependOn: (by) => void (dependsOn = by) }, answer);
    const body = made.then((content) => Buffer.from(JSON.stringify(content)));
    const one: CachedAnswer = { ...materialOf(scope, snapshot), dependsOn: undefined, body, bytes: 0 };
    put(url, one, ownBytes + url.length);
    try {
      const { length } = await body;
      // An instant that a header names has the address of the head, and is not of the positions that were read.
      one.dependsOn = scope.instant ? undefined : dependsOn;
      if (cached.get(url) === one) put(url, one, length);
      return await body;
    } catch (caught) {
      drop(url, one);
      throw caught;
    }
  };
  return async (reply, scope, answer) => {
    const { url } = reply.request;
    const body = await read(reply, { ...scope, isCached: cached.has(url) }, async (snapshot) => {
      const before = cached.get(url);
      if (!before || !(await holdsAt(before, scope, snapshot))) return await make(url, scope, snapshot, answer);
      if (cached.get(url) === before) put(url, before, 0);
      return await before.body;
    });
    if (body === notModified) return reply.send();
    return reply.type('application/json; charset=utf-8').send(body);
  };
}

/** Returns whether an answer is that of a snapshot as well, which it is then cached as. */
async function holdsAt(one: CachedAnswer, scope: ReadScope, snapshot: ReadSnapshot): Promise<boolean> {
  if (one.tag === snapshot.tag) return true;
  const { dependsOn, actionsAt } = one;
  if (!dependsOn || scope.instant) return false;
  const now = materialOf(scope, snapshot);
  if (now.others !== one.others || (await hasChangedSince(snapshot.reading, actionsAt, dependsOn))) return false;
  if (now.actionsAt > one.actionsAt) Object.assign(one, { tag: now.tag, actionsAt: now.actionsAt });
  return true;
}

type Material = Pick<CachedAnswer, 'tag' | 'others' | 'actionsAt'>;

function materialOf({ projections }: ReadScope, { tag, reading: { schemas, followed } }: ReadSnapshot): Material {
  const others = projections.map((name) =>
    name === 'actions' ? [schemas.actions, followed.actions.incarnation] : [schemas[name], followed[name]],
  );
  const actionsAt = projections.includes('actions') ? followed.actions.sequence : 0;
  return { tag, others: JSON.stringify(others), actionsAt };
}

async function confirmed(snapshot: ReadSnapshot, answer: (snapshot: ReadSnapshot) => Promise<object>): Promise<object> {
  const made = await answer(snapshot);
  await snapshot.reading.confirmed();
  return made;
}
