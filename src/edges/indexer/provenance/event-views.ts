import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { RawEvent } from '../../../engine/archive/chain.ts';
import type { EventIn } from '../../../engine/archive/event-links.ts';
import type { ProvenLogs } from '../../../engine/archive/proof/serving.ts';
import { isNamedRather } from '../../http/accept.ts';
import { batchType, type shownEvent } from './event-schemas.ts';

type ShownEvent = Static<typeof shownEvent.schema>;

/** Shows events with their places; with `proofs`, their bytes as text and their proofs too. */
export async function shownEvents(
  events: readonly EventIn[],
  { logs, proofs }: Readonly<{ logs: Pick<ProvenLogs, 'proof'>; proofs: 'inline' | undefined }>,
): Promise<ShownEvent[]> {
  return await Promise.all(
    events.map(async (one) => ({
      ...shown(one),
      ...(proofs && { body: textOf(one), proof: (await logs.proof(one.stream, one.sequence)) ?? null }),
    })),
  );
}

function shown(one: EventIn): Omit<ShownEvent, 'body' | 'proof'> {
  const { stream, sequence, storedNanos } = one;
  const event = JSON.parse(textOf(one)) as Readonly<{ data?: EventData }>;
  const { transaction, height, seenAtHeight } = event.data ?? {};
  return {
    stream,
    sequence,
    recordedtime: timeOf(storedNanos),
    tx: transaction?.hash ?? null,
    height: transaction?.height ?? height ?? seenAtHeight ?? null,
    event_url: `/log/${stream}/events/${sequence}`,
    proof_url: `/log/${stream}/proofs/${sequence}`,
    event,
  };
}

/** The fields of facts that name a place on the chain. */
type EventData = Readonly<{
  transaction?: Readonly<{ hash: string; height: number }>;
  height?: number;
  seenAtHeight?: number;
}>;

const nanosPerSecond = 1_000_000_000n;
const nanoDigits = 9;

/** Nanoseconds since 1970 as an RFC 3339 time that leaves none of them out. */
function timeOf(nanos: string): string {
  const all = BigInt(nanos);
  const seconds = new Date(Number(all / nanosPerSecond) * 1000).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
  return `${seconds}.${String(all % nanosPerSecond).padStart(nanoDigits, '0')}Z`;
}

const textOf = ({ body }: RawEvent): string => Buffer.from(body).toString();

/** Returns whether a caller prefers a list of CloudEvents to the one with their places. */
export function wantsBatch(request: FastifyRequest): boolean {
  return isNamedRather(request, batchType, 'application/json');
}

/** Answers with the stored bytes of events, as a list of CloudEvents. */
export async function sendBatch(reply: FastifyReply, events: readonly EventIn[]): Promise<void> {
  await reply.type(`${batchType}; charset=utf-8`).send(`[${events.map(textOf).join(',')}]`);
}

/** Names the next page of a list that changes, where there is one. */
export function linkNext(reply: FastifyReply, next: string | number | null): void {
  void reply.header('cache-control', 'no-store');
  if (next === null) return;
  const [path = '', search] = reply.request.url.split('?');
  const parameters = new URLSearchParams(search);
  parameters.set('after', String(next));
  void reply.header('link', `<${path}?${parameters.toString()}>; rel="next"`);
}
