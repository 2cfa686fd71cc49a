import type { Context } from '../context.ts';
import type { Row } from '../row.ts';
import * as endedTasks from './ended-tasks.ts';
import * as gatewayMany from './gateway-many.ts';
import * as gateway from './gateway.ts';
import * as gigabyte from './gigabyte.ts';
import * as manyFiles from './many-files.ts';
import * as status from './status.ts';
import * as storing from './storing.ts';
import * as streams from './streams.ts';

/**
 * A SuperNode: its status, also while files come in, the transport alone, the largest file whole, and with many files;
 * the gateway.
 */
export function rows(context: Context): readonly Row[] {
  return [status, storing, streams, gigabyte, manyFiles, gateway, gatewayMany, endedTasks].flatMap((part) =>
    part.rows(context),
  );
}
