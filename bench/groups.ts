import * as append from './rows/append.ts';
import * as catchUp from './rows/catch-up.ts';
import * as evm from './rows/evm.ts';
import * as reads from './rows/reads.ts';
import * as node from './rows/node.ts';
import * as rebuild from './rows/rebuild.ts';
import * as replay from './rows/replay.ts';
import * as pruning from './rows/pruning.ts';
import * as start from './rows/start.ts';
import * as sweep from './rows/sweep.ts';
import * as sync from './rows/sync.ts';
import * as visible from './rows/visible.ts';

/** Everything that is measured, in this order. */
export const groups = [
  append.rows,
  replay.rows,
  rebuild.rows,
  catchUp.rows,
  visible.rows,
  reads.rows,
  sync.rows,
  sweep.rows,
  node.rows,
  pruning.rows,
  start.rows,
  evm.rows,
];
