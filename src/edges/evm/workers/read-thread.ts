import * as accountReads from '../executor/state/account-reads.ts';
import { buildPayload } from '../executor/build-payload.ts';
import * as calls from '../executor/calls.ts';
import { ExecutionError } from '../executor/execution-error.ts';
import type { Hex } from '../executor/outcome.ts';
import { openPostgresNodes } from '../executor/state/postgres-nodes.ts';
import { createReader, type StateReader } from '../executor/reader.ts';
import { simulate } from '../executor/simulate/simulate.ts';
import { storageRange } from '../executor/state/storage-range.ts';
import { trace } from '../executor/trace.ts';
import type { StateAccess } from './state-access.ts';

/** What can be read of a state, by name. */
export const readings = { ...accountReads, ...calls, trace, storageRange, simulate, buildPayload } satisfies Record<
  string,
  (reader: StateReader, input: never) => Promise<unknown>
>;
export type Readings = typeof readings;

/** A result, or why the request itself failed: errors lose their class when they leave a thread. */
export type ThreadAnswer =
  Readonly<{ value: unknown }> | Readonly<{ failure: Readonly<{ code: number; message: string; data?: Hex }> }>;

/** One reading. */
export type ReadTask = Readonly<{ access: StateAccess; name: keyof Readings; given: unknown }>;

let open: Readonly<{ network: string; reader: StateReader }> | undefined;

/** Reads with connections, nodes and machines that stay with this thread. */
export async function read({ access, name, given }: ReadTask): Promise<ThreadAnswer> {
  const { network, postgres, config } = access;
  open ??= { network, reader: createReader({ config, nodes: openPostgresNodes(postgres, network) }) };
  const reading: (reader: StateReader, options: never) => Promise<unknown> = readings[name];
  try {
    return { value: await reading(open.reader, given as never) };
  } catch (caught) {
    if (!(caught instanceof ExecutionError)) throw caught;
    const { code, message, data } = caught;
    return { failure: { code, message, ...(data !== undefined && { data }) } };
  }
}
