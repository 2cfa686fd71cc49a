import type { StreamName } from '../../events/streams.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { archiveTypes, type Pools, withClient } from '../models/pool.ts';
import { provesItself, type RawEvent } from './chain.ts';
import { publicLogs } from './proof/serving.ts';

/** An event of a stream. */
export type EventIn = RawEvent & Readonly<{ stream: StreamName }>;

/** A page of events, ordered by stream and sequence: at most `limit` of those behind another one. */
export type LinkedPage = Readonly<{ after: Readonly<{ stream: string; sequence: number }> | undefined; limit: number }>;

/** Events of public logs by what links them; the archive finds them, shortly after the log has stored them. */
export type EventLinks = Readonly<{
  /** The events of actions that report a transaction; its hash as the chain writes it. */
  ofTransaction: (hash: string, page: LinkedPage) => Promise<EventIn[]>;
  /** The events that an event caused: itself (`causationid`), or as the first one of a chain (`correlationid`). */
  causedBy: (id: string, page: LinkedPage) => Promise<EventIn[]>;
  /** The event that an id names as a cause; undefined where no event that causes others has it. */
  cause: (id: string) => Promise<EventIn | undefined>;
}>;

/** Opens the archive of a network for readers of links; the migration has an index for each condition. */
export function createEventLinks({ pools, network }: Readonly<{ pools: Pools; network: string }>): EventLinks {
  const archive = `${metaSchema(network)}.archive`;
  const read = async (condition: string, key: string, { after, limit }: LinkedPage): Promise<EventIn[]> => {
    const text = `select stream, sequence, subject, id, stored_nanos::text as "storedNanos", body
      from ${archive} where stream = any($2) and (stream, sequence) > ($3, $4::int8) and (${condition})
      order by stream, sequence limit $5`;
    const values = [key, publicLogs, after?.stream ?? '', after?.sequence ?? 0, limit];
    const { rows } = await withClient(pools.read, (client) =>
      client.query<EventIn>({ text, values, types: archiveTypes() }),
    );
    return rows.filter(provesItself);
  };
  return {
    ofTransaction: (hash, page) => read(transactionIs, hash, page),
    causedBy: (id, page) => read(`${attributeIs('causationid')} or ${attributeIs('correlationid')}`, id, page),
    cause: async (id) => (await read(isCause, id, { after: undefined, limit: 1 }))[0],
  };
}

const transactionIs = `stream = 'ACTIONS' and position('"transaction":{"hash":"'::bytea in body) > 0
  and split_part(split_part(encode(body, 'escape'), '"transaction":{"hash":"', 2), '"', 1) = $1`;

/** What causes others are requests for rounds, and rounds. */
const isCause = `stream = 'SYNC' and id = $1`;

/** Attributes precede the data; within a text, quotes are escaped. */
const attributeIs = (name: 'causationid' | 'correlationid'): string =>
  `position('"${name}":"'::bytea in substring(body for 1024)) > 0 and
    split_part(split_part(split_part(encode(substring(body for 1024), 'escape'), ',"data":', 1), '"${name}":"', 2), '"', 1) = $1`;
