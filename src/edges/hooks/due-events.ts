import type { KnownHook } from '../../commands/hooks/hook-state.ts';
import { type FactType, isFactType } from '../../events/catalogue.ts';
import type { StoredEvent } from '../../engine/archive/event-pages.ts';
import { isOfOtherTypes } from '../../engine/log/envelope.ts';
import { entityIn } from '../../engine/log/scan.ts';
import { isTracing } from '../../kit/tracing/tracing.ts';
import type { DueEvent } from './progress.ts';

/** Reads from a stored event what a delivery needs; undefined where the filter of a hook passes it over. */
export type ReadDue = (stream: string, event: StoredEvent) => DueEvent | undefined;

const idPattern = /^\{"specversion":"1\.0","id":"([\w-]{1,64})"/;
const headBytes = 128;
const tracePattern = /"traceparent":"([\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2})"/;
/** The attributes of an event of ours end within these. */
const attributeBytes = 1024;

/** Makes the filter of a hook, which decides by subject and type alone. */
export function dueIn({ types, entity }: Pick<KnownHook, 'types' | 'entity'>): ReadDue {
  const wanted = types.filter((type): type is FactType => isFactType(type));
  const isOther = isOfOtherTypes(wanted);
  return (stream, { sequence, subject, bytes }) => {
    const own = entityIn(subject);
    if (entity !== undefined && own !== entity) return undefined;
    if (types.length > 0 && isOther(bytes)) return undefined;
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return {
      stream,
      kind: subject.split('.', 2)[1] ?? '',
      entity: own,
      sequence,
      id: idIn(body),
      traceparent: traceIn(body),
      body,
    };
  };
}

/** The id of an event, which our own events have at their start. */
function idIn(body: Buffer): string {
  const [, id] = idPattern.exec(body.subarray(0, headBytes).toString()) ?? [];
  if (id !== undefined) return id;
  const event: unknown = JSON.parse(body.toString());
  return typeof event === 'object' && event !== null && 'id' in event ? String(event.id) : '';
}

/** The span that wrote an event, which matters where spans are recorded. */
function traceIn(body: Buffer): string | undefined {
  if (!isTracing()) return undefined;
  const [attributes = ''] = body.subarray(0, attributeBytes).toString().split(',"data":', 1);
  return tracePattern.exec(attributes)?.[1];
}

/** The event that an operator has sent to try a hook out: it lies in no stream. */
export function testEvent({
  id,
  hook,
  network,
  at,
}: Readonly<Record<'id' | 'hook' | 'network' | 'at', string>>): Buffer {
  return Buffer.from(
    JSON.stringify({
      specversion: '1.0',
      id,
      source: `annals/${network}`,
      type: testType,
      subject: hook,
      time: at,
      data: { hook },
    }),
  );
}

/** Type of that event. */
export const testType = 'annals.HookTest.v1';
