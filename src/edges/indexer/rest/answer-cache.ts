import type { FastifyReply } from 'fastify';
import { notModified, type Read, type ReadScope, type ReadSnapshot } from './reads.ts';

/** Answers a read as `Read` does, with what the same address was answered before while that is what it would be now. */
export type CachedRead = (
  reply: FastifyReply,
  scope: ReadScope,
  answer: (snapshot: ReadSnapshot) => Promise<object>,
) => Promise<FastifyReply>;

type CachedAnswer = { readonly of: string; readonly body: Promise<Buffer>; bytes: number };

const mostBytes = 16 * 2 ** 20;
/** The memory of an answer besides its address and its body. */
const ownBytes = 500;

/**
 * Caches the last answers, each until one of its projections advances.
 *
 * The entity tag of the snapshot decides whether a cached answer holds. Each request reads the positions in it from the
 * database, so an answer is never older than any other read. Requests for the same one wait for the first. Refusals are
 * not cached.
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
  const make = async (url: string, of: string, answer: () => Promise<object>): Promise<Buffer> => {
    const one: CachedAnswer = { of, body: answer().then((made) => Buffer.from(JSON.stringify(made))), bytes: 0 };
    put(url, one, ownBytes + url.length);
    try {
      const body = await one.body;
      if (cached.get(url) === one) put(url, one, body.length);
      return body;
    } catch (caught) {
      drop(url, one);
      throw caught;
    }
  };
  return async (reply, scope, answer) => {
    const { url } = reply.request;
    const body = await read(reply, scope, async (snapshot) => {
      const of = snapshot.tag;
      const before = cached.get(url);
      if (before?.of !== of) return await make(url, of, () => answer(snapshot));
      put(url, before, 0);
      return await before.body;
    });
    if (body === notModified) return reply.send();
    return reply.type('application/json; charset=utf-8').send(body);
  };
}
