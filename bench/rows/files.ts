import type { Context } from '../context.ts';
import type { Row } from '../row.ts';
import * as gigabyte from './gigabyte.ts';
import * as storing from './storing.ts';
import * as streams from './streams.ts';

/** Files through a node: its status meanwhile, the transport alone, and the largest file whole. */
export function rows(context: Context): readonly Row[] {
  return [storing, streams, gigabyte].flatMap((part) => part.rows(context));
}
