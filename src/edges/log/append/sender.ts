import type { NatsConnection } from '@nats-io/transport-node';
import { streams } from '../../../events/streams.ts';
import { type Batch, messagesOf } from './batch.ts';
import { Groups } from './groups.ts';
import { createPace, type Pace } from './pace.ts';
import { Pipeline, type PipelineOptions, type Reply } from './pipeline.ts';

/** `pace`: when facts that wait are sent in groups; each stream has one of its own where none is given. */
export type SenderOptions = PipelineOptions & Readonly<{ pace?: Pace }>;

/** Sends a batch once and says what became of it; never rejects. */
export type Sender = Readonly<{
  first: (batch: Batch) => Promise<Reply>;
  /** As a message of its own; `withId: false` makes the broker store what it has stored before. */
  again: (batch: Batch, withId: boolean) => Promise<Reply>;
}>;

/** A sender with a pipeline of its own on a connection. */
export function createSender(nc: NatsConnection, { pace, ...options }: SenderOptions): Sender {
  const pipeline = new Pipeline(nc, options);
  const groups = new Map(streams.map((stream) => [stream, new Groups(pipeline, pace ?? createPace())]));
  const again = (batch: Batch, withId: boolean): Promise<Reply> => pipeline.send(messagesOf(batch, withId));
  return { first: (batch) => groups.get(batch.stream)?.send(batch) ?? again(batch, true), again };
}
