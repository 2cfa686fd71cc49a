import { type StreamName, streams } from '../../events/streams.ts';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../commands/errors.ts';
import { unlessBroken } from './breaks.ts';
import { incarnationOf } from './streams.ts';

/** Where a stream begins and ends. */
export type Head = Readonly<{
  /** Which life of the stream this is; sequences of another one say nothing. */
  incarnation: string;
  /** 0 while nothing has ever been written. */
  firstSequence: number;
  lastSequence: number;
  /** RFC 3339, UTC; when the last event was stored, or the stream created while it holds none. */
  lastTime: string;
}>;

/** Asks the broker where a stream ends; fails with `UNAVAILABLE` when it does not say. */
export async function readHead(nc: NatsConnection, name: string): Promise<Head> {
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const info = await unlessBroken(nc, manager.streams.info(name));
    const incarnation = incarnationOf(info);
    const { first_seq: firstSequence, last_seq: lastSequence, last_ts: lastTime } = info.state;
    return { incarnation, firstSequence, lastSequence, lastTime: lastSequence === 0 ? incarnation : lastTime };
  } catch (caught) {
    const why = caught instanceof Error ? caught.message : String(caught);
    throw new AppError('UNAVAILABLE', `The broker does not say where ${name} ends: ${why}`, { cause: caught });
  }
}

/** The ends of several streams. */
export type Heads = Readonly<Partial<Record<StreamName, Head>>>;

/** Asks for the ends of all streams at once. */
export async function readHeads(head: (stream: StreamName) => Promise<Head>): Promise<Heads> {
  return Object.fromEntries(await Promise.all(streams.map(async (stream) => [stream, await head(stream)] as const)));
}
