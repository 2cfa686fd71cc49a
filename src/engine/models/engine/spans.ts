import type { Recorded } from '../../../commands/ports.ts';
import { isTracing, span } from '../../../kit/tracing/tracing.ts';
import type { Generation } from './generations.ts';

/**
 * Applies a batch within a span of kind consumer, in each trace that one of its events names: below the first of its
 * events there, linked to the others. A batch whose events name none has no span.
 */
export async function traceBatch<T>(
  { stream, projection }: Pick<Generation, 'stream' | 'projection'>,
  facts: readonly Recorded[],
  work: () => Promise<T>,
): Promise<T> {
  if (!isTracing()) return await work();
  const parents = facts.flatMap(({ traceparent }) => traceparent ?? []);
  if (parents.length === 0) return await work();
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': stream,
    'messaging.consumer.group.name': projection,
    'messaging.batch.message_count': facts.length,
    'annals.position': facts.at(-1)?.sequence,
  };
  return await span(`process ${stream}`, { kind: 'consumer', attributes, parents }, work);
}

/** Writes a batch to the tables of a projection within a span of kind client; none where the batch has none. */
export async function traceWrite<T>(
  projection: string,
  facts: readonly Recorded[],
  work: () => Promise<T>,
): Promise<T> {
  if (!isTracing() || !facts.some(({ traceparent }) => traceparent !== undefined)) return await work();
  const attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': 'upsert',
    'db.collection.name': projection,
    'db.operation.batch.size': facts.length,
  };
  return await span(`upsert ${projection}`, { kind: 'client', attributes }, work);
}
