import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError, errorCodes, type ErrorCode } from '../../kit/errors.ts';
import { type App, errors, plainAnswer, words } from '../http/schema.ts';
import { operation, operationView } from './acts.ts';
import type { ActOperator } from './operation-records.ts';
import { Interrupted, type OperatorWork } from './operations.ts';

/** Acts whose work another process does. */
export const heldActs = ['rebuild', 'drop', 'scrub', 'repair', 'rekey'] as const;

/** What routes of held acts need. */
type HeldOptions = Readonly<{ operations: OperatorWork; operatorOf: (request: FastifyRequest) => ActOperator }>;

const tags = ['Operations'];

const request = Type.Object(
  {
    act: words(heldActs, { description: 'What the caller is about to do.' }),
    target: Type.String({ minLength: 1, maxLength: 64, description: 'What it does it to.' }),
  },
  { additionalProperties: false },
);

const end = Type.Object(
  {
    result: Type.Optional(Type.Unsafe<object>({ type: 'object', description: 'What it did, where it is done.' })),
    error: Type.Optional(
      Type.Object({ error: Type.String({ maxLength: 4096 }), code: Type.String() }, { additionalProperties: false }),
    ),
  },
  { additionalProperties: false },
);

const lines = { description: 'Lines of JSON.', content: { 'application/x-ndjson': { schema: Type.String() } } };

/**
 * Routes of acts that the caller works on itself, in a process of its own: the operation runs for as long as the caller
 * holds the answer open, and ends as the caller reports. Where the answer is closed before, it was interrupted.
 */
export function addHeldActs(app: App, { operations, operatorOf }: HeldOptions): void {
  const held = new Map<string, PromiseWithResolvers<object>>();
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  const opening = {
    tags,
    operationId: 'hold_operation',
    summary: 'Record an act that the caller works on itself',
    description:
      'The answer has a line of JSON with the operation, and stays open while the caller works; a line `{"cancelled":true}` follows where an operator cancels it. The caller reports the end, and closes the answer after that.',
    body: request,
    response: { 202: lines, ...errors(400, 429) },
  };
  app.post('/admin/v1/operations', { schema: opening }, async (asked, reply) => {
    const settled = Promise.withResolvers<object>();
    settled.promise.catch(() => undefined);
    const { raw } = reply;
    const cancel = (): void => void raw.write('{"cancelled":true}\n');
    const { id } = await operations.start({ ...asked.body, operator: operatorOf(asked) }, async ({ signal }) => {
      signal.addEventListener('abort', cancel, { once: true });
      return await settled.promise.finally(() => signal.removeEventListener('abort', cancel));
    });
    held.set(id, settled);
    reply.hijack();
    const leave = (): void => {
      settled.reject(new Interrupted('The instance that recorded it stopped'));
      raw.destroy();
    };
    raw.once('close', () => {
      held.delete(id);
      closing.signal.removeEventListener('abort', leave);
      settled.reject(new Interrupted('The process that worked on it is gone'));
    });
    if (closing.signal.aborted) leave();
    else closing.signal.addEventListener('abort', leave, { once: true });
    raw.writeHead(202, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    raw.write(`${JSON.stringify({ operation: id })}\n`);
  });
  const ending = {
    tags,
    operationId: 'end_operation',
    summary: 'Report the end of an act that the caller worked on',
    description: 'It failed where there is an `error`; with the code `CANCELLED` it was cancelled.',
    params: Type.Object({ id: Type.String({ description: 'Id of the operation.' }) }),
    body: end,
    response: { 200: plainAnswer('The operation, with its end.', operation.ref), ...errors(400, 404, 409) },
  };
  app.post('/admin/v1/operations/:id/end', { schema: ending }, async ({ params: { id }, body }) => {
    const settled = held.get(id);
    if (!settled) {
      await operations.find(id);
      throw new AppError('CONFLICT', 'Nobody holds this operation open here, so nobody can end it.');
    }
    if (body.error) settled.reject(new AppError(codeOf(body.error.code), body.error.error));
    else settled.resolve(body.result ?? {});
    return operationView(await operations.settled(id));
  });
}

function codeOf(word: string): ErrorCode {
  return errorCodes.find((one) => one === word) ?? 'INTERNAL';
}
