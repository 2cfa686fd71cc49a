import type { Method } from '../rpc/registry.ts';
import { blockMethods } from './blocks.ts';
import { headerMethods } from './headers.ts';
import { callMethods } from './calls.ts';
import { examples } from './examples.ts';
import { debugMethods } from './debug.ts';
import { feeMethods } from './fees.ts';
import { fillMethods } from './fill.ts';
import { filterMethods } from './filters.ts';
import { nodeMethods } from './node.ts';
import { otterscanMethods } from './otterscan.ts';
import { searchMethods } from './otterscan-search.ts';
import { poolMethods } from './pool.ts';
import { receiptMethods } from './receipts.ts';
import { catalogueMethods } from './catalogue.ts';
import { stateMethods } from './state.ts';
import { subscriptionMethods } from './subscriptions.ts';
import { traceMethods } from './trace.ts';
import { traceCallMethods } from './trace-call.ts';
import { replayMethods } from './trace-replay.ts';

/** Every method; the settings decide which namespaces are served. */
export const methods: readonly Method[] = [
  ...nodeMethods,
  ...catalogueMethods,
  ...blockMethods,
  ...headerMethods,
  ...receiptMethods,
  ...stateMethods,
  ...callMethods,
  ...feeMethods,
  ...fillMethods,
  ...poolMethods,
  ...filterMethods,
  ...subscriptionMethods,
  ...debugMethods,
  ...traceMethods,
  ...replayMethods,
  ...traceCallMethods,
  ...otterscanMethods,
  ...searchMethods,
].map((one) => {
  const example = examples[one.name];
  return example ? { ...one, examples: [example] } : one;
});
