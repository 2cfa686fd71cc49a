import { Type } from 'typebox';
import type { StreamName } from '../../../events/streams.ts';
import { type ProvenEvent, type ProvenLogs, publicLogs } from '../../../engine/archive/proof/serving.ts';
import { AppError } from '../../../kit/errors.ts';
import { component, nullable, plainAnswer, time, words } from '../../http/schema.ts';

const log = Type.Object({
  stream: words(publicLogs, { description: 'Stream of the log.' }),
  url: Type.String({ description: 'Path below which the log is served, as C2SP tlog-tiles has it.' }),
  origin: Type.String({ description: 'Name of the log, the first line of its checkpoints.' }),
  vkey: Type.String({ description: 'Public key of the log: name+id+base64.' }),
  size: Type.Integer({ description: 'Events of the checkpoint that was signed last.' }),
  root: Type.String({ description: 'Root hash of their tree, base64.' }),
  signed_at: time('When that checkpoint was signed.'),
  witnesses: Type.Array(Type.String(), { description: 'Names of the witnesses that signed that checkpoint too.' }),
  incarnation: Type.String({ description: 'Which life of the stream it is.' }),
  first_kept: nullable(
    Type.Integer({
      description:
        'Sequence of the first event whose bytes are kept; null where none is. Those before it stay provable.',
    }),
  ),
});

/** The list of logs. */
export const logList = component('Logs', Type.Object({ logs: Type.Array(log) }));

/** All components of these routes. */
export const logComponents = [logList];

/** The path of a log. */
export const streamParam = Type.String({ description: `Stream of the log: ${publicLogs.join(', ')}.` });
/** The place of an event in its stream. */
const sequenceParam = Type.String({ description: 'Sequence of the event in its stream, from 1.' });

/** The path of an event. */
export const eventParams = Type.Object({ stream: streamParam, sequence: sequenceParam });

const caching = (description: string) => ({ 'Cache-Control': { type: 'string', description } });
/** What never changes. */
export const immutable = 'public, max-age=31536000, immutable';

/** An answer that is no JSON: bytes or text of a media type. */
export function rawAnswer(description: string, mediaType: string, cacheControl: string) {
  const text = Type.String(mediaType === 'application/octet-stream' ? { format: 'binary' } : {});
  const schema = mediaType.endsWith('json') ? Type.Object({}, { additionalProperties: true }) : text;
  return {
    description,
    headers: caching(`Always \`${cacheControl}\`.`),
    content: { [mediaType]: { schema } },
  };
}

/** The list of logs as an answer. */
export const logListAnswer = plainAnswer('The logs that anybody may check.', logList.ref);

/** The stream of a path; what is private is as unknown as what is not there. */
export function publicLog(stream: string): StreamName {
  const name = publicLogs.find((one) => one === stream);
  if (name === undefined)
    throw new AppError('NOT_FOUND', `There is no log of this name; there are ${publicLogs.join(', ')}.`);
  return name;
}

/** 0, which no event has, where the text is no sequence. */
export function sequenceOf(text: string): number {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : 0;
}

/** An event of the signed tree with its bytes; fails where the tree does not reach it or the bytes are gone. */
export async function eventBytes(
  logs: Pick<ProvenLogs, 'event'>,
  stream: StreamName,
  sequence: number,
): Promise<ProvenEvent & Readonly<{ bytes: Uint8Array }>> {
  const event = await logs.event(stream, sequence);
  if (!event) throw beyond();
  const { bytes, entry } = event;
  if (bytes) return { bytes, entry };
  throw new AppError('GONE', 'The bytes of this event are not kept any more; its proof still shows its hash.');
}

/** The refusal of a sequence that the signed tree does not reach. */
export function beyond(): AppError {
  return new AppError('NOT_FOUND', 'The last checkpoint of this log has no event of this sequence.');
}
