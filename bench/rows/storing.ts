import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Context, once } from '../context.ts';
import { percentile } from '../rounds.ts';
import type { Row } from '../row.ts';
import { startCaller, startNode } from './status.ts';
import { startStreams } from './streams.ts';

/** What 99 of 100 callers of GetStatus wait at most while 20 MB a second are stored, beside a server of grpc-js. */
export function rows(context: Context): readonly Row[] {
  const ours = once(() => startNode(context));
  const peer = once(
    async () => await startStreams(context, 'grpc-js', path.join(await context.folder('peer'), 'file')),
  );
  const call = once(() => startCaller(context));
  const contender = (address: string) => async () => {
    const calls = { address, includeP2pMetrics: false, seconds: context.size(10, 1) };
    const callAll = await call();
    return await whileStoring(address, async () => percentile(await callAll(calls), 99));
  };
  return [
    {
      name: 'storing-status-p99',
      unit: 'ms',
      better: 'lower',
      peerName: 'grpc-js',
      target: { ours: 25 },
      measure: async () => {
        const own = await ours();
        return await context.inTurn('lower', contender(own), async () => contender(await peer()));
      },
    },
  ];
}

async function whileStoring<T>(address: string, work: () => Promise<T>): Promise<T> {
  // In a thread of its own: what the sending leaves to be collected would hold up what else this process does.
  const storing = new Worker(new URL('../files/storing-load.ts', import.meta.url), { workerData: { address } });
  try {
    return await work();
  } finally {
    await storing.terminate();
  }
}
