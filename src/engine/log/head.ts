import { type StreamName, streams } from '../../events/streams.ts';
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../kit/errors.ts';
import { incarnationOf, streamName } from './streams.ts';

/** The first and the last sequence of a stream. */
export type Head = Readonly<{
  /** The incarnation of the stream; sequences of another one cannot be compared. */
  incarnation: string;
  /** 0 while nothing has ever been written. */
  firstSequence: number;
  lastSequence: number;
  /** RFC 3339, UTC; when the last event was stored, or the stream created while it holds none. */
  lastTime: string;
}>;

/** Reads the head of a stream from the broker; fails with `UNAVAILABLE` when it does not answer. */
export async function readHead(nc: NatsConnection, name: string): Promise<Head> {
  return headOf(await readInfo(nc, name));
}

/** Returns whether a stream has dropped an event since it was created. */
export async function hasForgotten(nc: NatsConnection, name: string): Promise<boolean> {
  const { first_seq: first, last_seq: last, messages } = (await readInfo(nc, name)).state;
  return last > 0 && (first > 1 || messages < last);
}

async function readInfo(nc: NatsConnection, name: string): Promise<StreamInfo> {
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    return await manager.streams.info(name);
  } catch (caught) {
    const why = caught instanceof Error ? caught.message : String(caught);
    throw new AppError('UNAVAILABLE', `The broker does not say where ${name} ends: ${why}`, { cause: caught });
  }
}

/** The ends of several streams. */
export type Heads = Readonly<Partial<Record<StreamName, Head>>>;

/**
 * Reads the ends of all streams of a network by one question; a stream that its answer lacks, which may have no leader
 * for a moment, is queried apart.
 */
export async function readHeads(nc: NatsConnection, network: string): Promise<Heads> {
  const infos = new Map((await listOf(nc, network)).map((info) => [info.config.name, info]));
  const heads = streams.map(async (stream) => {
    const name = streamName(stream, network);
    const info = infos.get(name);
    return [stream, info ? headOf(info) : await readHead(nc, name)] as const;
  });
  return Object.fromEntries(await Promise.all(heads));
}

async function listOf(nc: NatsConnection, network: string): Promise<StreamInfo[]> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const infos: StreamInfo[] = [];
  for await (const info of manager.streams.list(`evt.*.${network}.*`)) infos.push(info);
  return infos;
}

function headOf(info: StreamInfo): Head {
  const incarnation = incarnationOf(info);
  const { first_seq: firstSequence, last_seq: lastSequence, last_ts: lastTime } = info.state;
  return { incarnation, firstSequence, lastSequence, lastTime: lastSequence === 0 ? incarnation : lastTime };
}
