import type { Appended, Decision, FactLog } from '../../../commands/ports.ts';
import { eventType } from '../../../events/upcast.ts';
import { type Kind, streamOfKind } from '../../../events/streams.ts';
import { isTracing, recordedTraceparent, span } from '../../../kit/tracing/tracing.ts';

/** Kinds whose events name no trace: nothing may lead from them to the request of a private file. */
const untracedKinds: ReadonlySet<Kind> = new Set(['retrieval']);

/**
 * Puts a span around each append, and its context into the events, so that their readers continue the trace.
 *
 * The id of an event does not depend on it, nor do the events of a process that records nothing.
 */
export function withSpans(append: FactLog['append']): FactLog['append'] {
  return async (decisions, cause) => {
    const [first] = decisions;
    if (!isTracing() || !first) return await append(decisions, cause);
    const stream = streamOfKind(first.kind);
    const attributes = {
      'messaging.system': 'nats',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'publish',
      'messaging.destination.name': stream,
      'cloudevents.event_spec_version': '1.0',
    };
    return await span(`send ${stream}`, { kind: 'producer', attributes }, async (opened) => {
      const traceparent = decisions.some(({ kind }) => untracedKinds.has(kind)) ? undefined : recordedTraceparent();
      const appended = await append(decisions, traceparent === undefined ? cause : { ...cause, traceparent });
      opened.set(attributesOf(decisions, appended));
      return appended;
    });
  };
}

function attributesOf(decisions: readonly Decision[], { ids, sequence }: Appended): Record<string, string | number> {
  const [id, second] = ids;
  const type = decisions.flatMap(({ facts }) => facts)[0]?.type;
  const position = { 'annals.position': sequence };
  if (id === undefined || type === undefined || second !== undefined)
    return { ...position, 'messaging.batch.message_count': ids.length };
  const event = { 'cloudevents.event_id': id, 'cloudevents.event_type': eventType(type) };
  return { ...position, ...event, 'messaging.message.id': id };
}
