import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../kit/errors.ts';
import { bodyOf } from '../../http/errors.ts';

const tryAgainSeconds = 3;
/** A client that is refused early may continue to send for so long before the connection is cut. */
const lingerMs = 5_000;

/**
 * Answers an upload that was refused: 400 for a wrong signature, as spec 3 has it, and `Retry-After` where the next
 * try may fare better; what is no refusal is thrown on.
 */
export async function refuseUpload(request: FastifyRequest, reply: FastifyReply, caught: unknown): Promise<unknown> {
  if (!(caught instanceof AppError)) throw caught;
  if (caught.code === 'NOT_FOUND' || caught.code === 'TOO_MANY_REQUESTS')
    reply.header('retry-after', String(tryAgainSeconds));
  dropRest(request, reply, caught);
  if (caught.code !== 'UNAUTHORIZED') throw caught;
  return await reply.code(400).send(bodyOf(caught));
}

/**
 * Reads and drops the rest of a refused body for a while, so that its sender can read the answer; a connection on which
 * it does not end by then is cut.
 */
export function dropRest({ raw }: FastifyRequest, reply: FastifyReply, { code }: AppError): void {
  if (raw.complete) return;
  if (code === 'REQUEST_TIMEOUT') return void reply.header('connection', 'close');
  const cut = setTimeout(() => raw.socket.destroy(), lingerMs).unref();
  raw.unpipe();
  raw.once('end', () => clearTimeout(cut)).resume();
}
