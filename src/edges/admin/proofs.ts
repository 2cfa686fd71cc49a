import { Type } from 'typebox';
import type { ProvenLogs } from '../../engine/archive/proof/serving.ts';
import { isProven, streams, streamTable } from '../../events/streams.ts';
import { AppError } from '../../kit/errors.ts';
import { type App, component, errors, plainAnswer } from '../http/schema.ts';

/** What the route of proofs reads. */
export type ProofSource = Pick<ProvenLogs, 'checkpoint' | 'event' | 'proof'>;

const proof = component(
  'EventProof',
  Type.Object({
    stream: Type.String({ description: 'Stream of the log.' }),
    sequence: Type.Integer({ description: 'Sequence of the event in it.' }),
    size: Type.Integer({ description: 'Events of the signed checkpoint that the proof ends in.' }),
    vkey: Type.String({ description: 'Key that signed it, as verifiers take it.' }),
    event: Type.String({ description: 'Base64 of the bytes of the event.' }),
    proof: Type.String({ description: 'Text of C2SP tlog-proof that the log has the event.' }),
  }),
);

/** The components of this route. */
export const proofComponents = [proof];

/** `GET /admin/v1/logs/{name}/proofs/{sequence}`: an event and the proof that its log has it, of private logs too. */
export function addProofs(app: App, logs: ProofSource): void {
  const schema = {
    tags: ['State'],
    operationId: 'prove',
    summary: 'An event and the proof that its log has it, of private logs too',
    params: Type.Object({
      name: Type.String({ description: 'Stream of the log.' }),
      sequence: Type.String({ description: 'Sequence of the event in it, from 1.' }),
    }),
    response: { 200: plainAnswer('The event and its proof.', proof.ref), ...errors(400, 404, 410) },
  };
  app.get('/admin/v1/logs/:name/proofs/:sequence', { schema }, async ({ params }) => {
    const stream = proven.find((one) => one === params.name.toUpperCase());
    if (!stream)
      throw new AppError('NOT_FOUND', `There is no log of the name ${params.name}; there are ${proven.join(', ')}`);
    if (!/^[1-9]\d{0,14}$/.test(params.sequence))
      throw new AppError('INVALID_ARGUMENT', `${params.sequence} is no sequence: they count from 1`);
    const sequence = Number(params.sequence);
    const [checkpoint, event, text] = await Promise.all([
      logs.checkpoint(stream),
      logs.event(stream, sequence),
      logs.proof(stream, sequence),
    ]);
    if (!checkpoint || !event || text === undefined)
      throw new AppError('NOT_FOUND', `The last checkpoint of ${stream} has ${checkpoint?.size ?? 0} events`);
    if (!event.bytes) throw new AppError('GONE', `The bytes of event ${sequence} of ${stream} are not kept any more`);
    const { size, vkey } = checkpoint;
    return { stream, sequence, size, vkey, event: Buffer.from(event.bytes).toString('base64'), proof: text };
  });
}

const proven = streams.filter((one) => isProven(streamTable[one]));
