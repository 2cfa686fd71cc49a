import { type RawBuilder, sql } from 'kysely';
import { columnsOf, type Table } from '../columns.ts';
import { pastOf } from '../past-tables.ts';
import { positionOf } from '../relation.ts';
import { availabilityTable, supernodeTable, validatorTable } from './fleet-tables.ts';
import type { Reading } from '../reading.ts';
import { run, slot } from '../statement.ts';
import type { AvailabilityRow, SuperNodeRow, ValidatorRow } from '../tables.ts';

/**
 * A SuperNode's record with the result of its latest probe and its validator; before the first probe it is unavailable.
 */
export type FleetNode = SuperNodeRow &
  Omit<AvailabilityRow, 'id' | 'probed_at' | 'status_answer'> &
  Readonly<{
    probed_at: string | null;
    status_answer: string | null;
    moniker: string | null;
    validator_status: ValidatorRow['status'] | null;
    jailed: boolean | null;
  }>;

/** A state of the SuperNode itself, the bond status of its validator, or the validator's flag `jailed`. */
export type CurrentState = Readonly<
  { family: 'supernode' | 'validator'; value: string } | { family: 'jailed'; value?: string }
>;

/** Which SuperNodes to list; what is left out does not matter. */
export type FleetFilter = Readonly<{
  status?: 'available' | 'unavailable' | undefined;
  currentState?: CurrentState | undefined;
  version?: string | undefined;
  /** Failed probes in a row, at least. */
  minFailedProbeCounter?: number | undefined;
}>;

/** An unavailable SuperNode, with the fields that the list of unavailable ones shows. */
export type UnavailableNode = Pick<FleetNode, 'id' | 'address' | 'failed_probe_counter' | 'last_seen_at'>;

/** `total` counts all that match, on every page. */
export type FleetPage = Readonly<{ rows: FleetNode[]; total: number; hasMore: boolean }>;

type Listed = (FleetNode | { readonly id: null }) & { readonly total: number };

/** A page of SuperNodes, ordered by id bytewise, those beyond `after`; page and total from one statement. */
export async function listSuperNodes(
  reading: Reading,
  { after, limit, ...filter }: FleetFilter & Readonly<{ after?: string | undefined; limit: number }>,
): Promise<FleetPage> {
  const fits = conditions(filter);
  const beyond = after === undefined ? fits : sql`${fits} and s.id > ${after}`;
  const { rows } = await sql<Listed>`
    select total.n as total, node.*
    from (select count(*) as n from (${fleet(reading, fits)}) matching) total
    left join (${fleet(reading, beyond)} order by s.id limit ${limit + 1}) node on true
    order by node.id
  `.execute(reading.db);
  const hit = rows.filter((row) => row.id !== null);
  return { rows: hit.slice(0, limit), total: rows[0]?.total ?? 0, hasMore: hit.length > limit };
}

/** One listed SuperNode by its operator address, or undefined. */
export async function superNodeById(reading: Reading, operator: string): Promise<FleetNode | undefined> {
  if (reading.at) {
    const { rows } = await sql<FleetNode>`${fleet(reading, sql`s.id = ${operator}`)}`.execute(reading.db);
    return rows[0];
  }
  const { supernodes, availability, validators } = reading.schemas;
  const [node] = await run<FleetNode>(reading, {
    shape: `node ${supernodes} ${availability} ${validators}`,
    text: () => fleet(reading, sql`s.id = ${slot('operator')}`),
    given: { operator },
  });
  return node;
}

/** The SuperNodes that are not available, ordered by id bytewise. */
export async function unavailableNodes(reading: Reading, currentState?: CurrentState): Promise<UnavailableNode[]> {
  const fits = conditions({ status: 'unavailable', currentState });
  const { rows } = await sql<UnavailableNode>`
    select id, address, failed_probe_counter, last_seen_at from (${fleet(reading, fits)}) node order by id
  `.execute(reading.db);
  return [...rows];
}

/** Accounts of the SuperNodes that are not available, as far as they were probed. */
export async function accountsOfUnavailable(reading: Reading): Promise<string[]> {
  const fits = sql`not a.available`;
  const { rows } = await sql<{ account: string }>`
    select account from (${fleet(reading, fits)}) node order by account
  `.execute(reading.db);
  return rows.map(({ account }) => account);
}

/** Every listed SuperNode that fits, joined with its latest probe (`a`) and its validator (`v`). */
export function fleet(reading: Reading, fits: RawBuilder<unknown>): RawBuilder<unknown> {
  const { schemas } = reading;
  const from = reading.at
    ? sql`
      ${pastNodes(reading, 'supernodes', supernodeTable)} s
      left join ${pastProbes(reading)} on a.id = s.id
      left join ${pastNodes(reading, 'validators', validatorTable)} v on v.id = s.id
      where ${fits}`
    : sql`
      ${sql.id(schemas.supernodes, 'supernodes')} s
      left join ${sql.id(schemas.availability, 'availability')} a on a.id = s.id and not a.removed
      left join ${sql.id(schemas.validators, 'validators')} v on v.id = s.id and not v.removed
      where not s.removed and ${fits}`;
  return sql`
    select ${columnsOf(supernodeTable, 's')},
      ${columnsOf(availabilityTable, 'a', {
        id: 'left out',
        available: sql`coalesce(a.available, false)`,
        failed_probe_counter: sql`coalesce(a.failed_probe_counter, 0)`,
        ports: sql`coalesce(a.ports, '[]')`,
        services: sql`coalesce(a.services, '[]')`,
      })},
      v.moniker, v.status as validator_status, v.jailed
    from ${from}`;
}

/** The rows of a table of the fleet as of the reading's position. */
export function pastNodes(
  reading: Reading,
  projection: 'supernodes' | 'validators',
  table: Table,
): RawBuilder<unknown> {
  const at = positionOf(reading, projection) ?? 0;
  const { schemas } = reading;
  const columns = sql.join(Object.keys(table.columns).map((name) => sql.id(name)));
  const position = sql`${at}::int8`;
  return sql`(
    select ${columns} from ${sql.id(schemas[projection], table.name)} where position <= ${position} and not removed
    union all select ${columns} from ${sql.id(schemas[projection], pastOf(table)?.name ?? '')}
    where position <= ${position} and until > ${position})`;
}

/** The results of the probes of that instant, which no table keeps. */
function pastProbes({ at }: Reading): RawBuilder<unknown> {
  const columns = Object.entries(availabilityTable.columns).map(
    ([name, type]) => sql`${sql.id(name)} ${sql.raw(type === 'text' ? 'text collate "C"' : type)}`,
  );
  return sql`jsonb_to_recordset(${JSON.stringify(at?.availability ?? [])}::jsonb) as a (${sql.join(columns)})`;
}

function conditions({ status, currentState, version, minFailedProbeCounter }: FleetFilter): RawBuilder<unknown> {
  const all = [
    status === undefined ? [] : sql`coalesce(a.available, false) = ${status === 'available'}`,
    version === undefined ? [] : sql`a.version = ${version}`,
    minFailedProbeCounter === undefined ? [] : sql`coalesce(a.failed_probe_counter, 0) >= ${minFailedProbeCounter}`,
    currentState === undefined ? [] : inState(currentState),
  ].flat();
  return all.length > 0 ? sql.join(all, sql` and `) : sql`true`;
}

function inState({ family, value = '' }: CurrentState): RawBuilder<unknown> {
  const holds = { supernode: sql`s.state = ${value}`, validator: sql`v.status = ${value}`, jailed: sql`v.jailed` };
  return holds[family];
}
