import { createActHolder } from '../edges/admin/act-holder.ts';
import { createOperationRecords } from '../edges/admin/operation-records.ts';
import { createOperations, type OperatorWork } from '../edges/admin/operations.ts';
import type { Context } from './context.ts';

/** The operations of this process, which are facts of the log. */
export function operationsOf({ broker, network, logger }: Context): OperatorWork {
  const clock = (): number => Date.now();
  const records = createOperationRecords(broker.log, clock);
  return createOperations({ records, holder: createActHolder(broker.connection, network), clock, logger });
}
