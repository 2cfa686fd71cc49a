import type { FastifyReply } from 'fastify';
import type { Look, Read, Scope } from './reads.ts';

/** Which answer of a route it is: everything of the request that the answer depends on. */
type Asked = Readonly<{ scope: Scope; key: string }>;

/** Sends an answer over one look, with the headers of every read. */
export type Keep = (
  reply: FastifyReply,
  asked: Asked,
  answer: (look: Look) => Promise<object>,
) => Promise<FastifyReply>;

type Kept = Readonly<{ of: string; body: Promise<Buffer> }>;

const mostKept = 128;

/**
 * Keeps the last answers that are costly to make, each as long as none of its projections moves.
 *
 * An answer is told from the positions of the look, which is read from the database each time, so it is never older than any
 * other read. Requests for the same one wait for the first.
 */
export function keepAnswers(read: Read): Keep {
  const kept = new Map<string, Kept>();
  return async (reply, { scope, key }, answer) => {
    const body = await read(reply, scope, async (look) => {
      const of = placeOf(look, scope);
      const before = kept.get(key);
      const found = before?.of === of ? before : { of, body: made(look, answer) };
      kept.delete(key);
      kept.set(key, found);
      const [oldest] = kept.keys();
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
      try {
        return await found.body;
      } catch (caught) {
        if (kept.get(key) === found) kept.delete(key);
        throw caught;
      }
    });
    return reply.type('application/json; charset=utf-8').send(body);
  };
}

async function made(look: Look, answer: (look: Look) => Promise<object>): Promise<Buffer> {
  return Buffer.from(JSON.stringify(await answer(look)));
}

/** Which tables a look sees, and how far they have followed the log. */
function placeOf({ reading }: Look, { projections }: Scope): string {
  return JSON.stringify(projections.map((name) => [reading.schemas[name], reading.followed[name]]));
}
