import type { Kind, StreamName } from '../../events/streams.ts';
import type { Log } from '../log/log.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { archiveTypes, type Pools, withClient } from '../models/pool.ts';
import { provesItself, rawFrom, type RawEvent } from './chain.ts';

/** Events byte for byte, from either store. */
export type EventReads = Readonly<{
  /** The events of one entity after a sequence as the log has them, in order, at most so many. */
  logged: (kind: Kind, entity: string, page: Readonly<{ after: number; limit: number }>) => Promise<RawEvent[]>;
  /** The intact events of some sequences of a stream that the archive has, in order. */
  archived: (stream: StreamName, sequences: readonly number[]) => Promise<RawEvent[]>;
}>;

type EventReadsOptions = Readonly<{ pools: Pools; network: string; log: Pick<Log, 'stored'> }>;

/** Reads events of a network from its log and its archive. */
export function createEventReads({ pools, network, log }: EventReadsOptions): EventReads {
  const text = `select sequence, subject, id, stored_nanos::text as "storedNanos", body
    from ${metaSchema(network)}.archive where stream = $1 and sequence = any($2) order by sequence`;
  return {
    logged: async (kind, entity, page) =>
      (await log.stored(kind, entity, page)).map((message) =>
        rawFrom({ ...message, storedNanos: nanosOf(message.header('Nats-Time-Stamp') ?? '') }),
      ),
    archived: async (stream, sequences) => {
      if (sequences.length === 0) return [];
      const { rows } = await withClient(pools.read, (client) =>
        client.query<RawEvent>({ text, values: [stream, sequences], types: archiveTypes() }),
      );
      return rows.filter(provesItself);
    },
  };
}

const nanoDigits = 9;

/** A time as the broker writes it, UTC with up to nine digits of a second, as nanoseconds since 1970. */
function nanosOf(time: string): string {
  const [, seconds = '1970-01-01T00:00:00', fraction = ''] = /^([^.Z]+)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return `${Date.parse(`${seconds}Z`) / 1000}${fraction.padEnd(nanoDigits, '0')}`;
}
