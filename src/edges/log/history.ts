import type { NatsConnection } from '@nats-io/transport-node';
import type { Recorded } from '../../commands/ports.ts';
import { messagesOf } from './direct.ts';
import { recordedFrom } from './poison-event.ts';

/** Bounds a page. */
export type HistoryOptions = Readonly<{ pageSize?: number }>;

const usualPageSize = 500;

/**
 * The facts of one subject after a sequence, page by page; see `Log.history`. Its cost follows the facts it gives, not
 * the stream.
 */
export async function* historyOf(
  nc: NatsConnection,
  { stream, subject, after }: Readonly<{ stream: string; subject: string; after: number }>,
  { pageSize = usualPageSize }: HistoryOptions = {},
): AsyncGenerator<readonly Recorded[], void, undefined> {
  for (let from = after + 1; ;) {
    const { messages, left } = await messagesOf(nc, stream, { subject, from, most: pageSize });
    const last = messages.at(-1);
    if (!last) return;
    yield messages.map((message) => recordedFrom(stream, message));
    if (left === 0) return;
    from = last.sequence + 1;
  }
}
