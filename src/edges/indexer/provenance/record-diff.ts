import type { FastifyReply } from 'fastify';
import { AppError } from '../../../kit/errors.ts';
import { patchBetween } from '../../http/json-patch.ts';
import { parseNamedInstant } from '../../http/positions.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { notModified, type ReadScope, type ReadSnapshot } from '../rest/reads.ts';
import { patchType } from './record-schemas.ts';

/** A record as it is read and shown. */
export type ShownRecord = Readonly<{ scope: ReadScope; answer: (snapshot: ReadSnapshot) => Promise<object> }>;

/** Two instants of a record, as the caller names them. */
type Instants = Readonly<{ as_of?: string | undefined; diff: string; explain: boolean }>;

/**
 * Answers with the JSON Patch that leads from a record at `as_of` to the same record at `diff`, whichever is the
 * earlier one; the headers name the second one. `NOT_FOUND` where there is no record at either of them.
 */
export async function answerDiff(
  { readOnce }: Pick<RouteDependencies, 'readOnce'>,
  reply: FastifyReply,
  { record: { scope, answer }, instants }: Readonly<{ record: ShownRecord; instants: Instants }>,
): Promise<FastifyReply> {
  const { as_of: asOf, diff, explain } = instants;
  if (asOf === undefined)
    throw new AppError('INVALID_ARGUMENT', 'diff compares with the instant of as_of, which is missing.');
  if (explain) throw new AppError('INVALID_ARGUMENT', 'explain and diff are answered one at a time; leave one out.');
  const [first, second] = [parseNamedInstant('as_of', asOf), parseNamedInstant('diff', diff)];
  const before = await readOnce(reply, { ...scope, instant: first }, answer);
  const [caching, vary] = [reply.getHeader('cache-control'), reply.getHeader('vary')];
  const after = await readOnce(reply, { ...scope, instant: second }, answer);
  // An answer changes as long as either of its instants may.
  if (caching === 'no-cache') void reply.header('cache-control', caching);
  void reply.header('vary', vary);
  if (before === notModified || after === notModified) return await reply.send();
  return await reply.type(`${patchType}; charset=utf-8`).send(JSON.stringify(patchBetween(before, after)));
}
