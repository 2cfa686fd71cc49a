import type { Context } from '../context.ts';
import type { Row } from '../row.ts';
import * as gatewayMany from './gateway-many.ts';
import * as gateway from './gateway.ts';
import * as gigabyte from './gigabyte.ts';
import * as status from './status.ts';
import * as storing from './storing.ts';
import * as streams from './streams.ts';

/** A SuperNode: its status, also while files come in, the transport alone, and the largest file whole; the gateway. */
export function rows(context: Context): readonly Row[] {
  return [status, storing, streams, gigabyte, gateway, gatewayMany].flatMap((part) => part.rows(context));
}
