import { until } from '../../test/support/polling.ts';
import { runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import type { Context } from '../context.ts';
import { collecting, openReaders, type Reader, leastMib } from '../files/readers.ts';
import type { Row } from '../row.ts';

/** What one more reader costs that follows the end of a public log over HTTP, garbage aside. */
export function rows(context: Context): readonly Row[] {
  const measure = async () => ({ ours: await readMany(context), peer: null, ratio: null });
  return [{ name: 'log-readers', unit: 'KiB each', better: 'lower', peerName: null, target: { ours: 12 }, measure }];
}

async function readMany(context: Context): Promise<number> {
  // The first of them pay for what the program has not done before.
  const [warm, readers] = [context.size(500, 20), context.size(4_500, 50)];
  const dataDir = await context.folder('log-readers');
  const env = { ROLES: 'ledger,projector,indexer', LOCAL_OUTAGES: 'off', RATE_LIMIT: 'off' };
  const { base, pid, stop, untilReady } = await runProgram({ dataDir, env, nodeArguments: [...lean, ...collecting] });
  const open: Reader[] = [];
  try {
    await untilReady();
    const size = await until('events are proven', () => sizeOf(base));
    const from = { url: `${base}/log/ACTIONS/events?after=${size - 1}`, begin: `id: ${size}\n` };
    await openReaders(open, warm, from);
    const before = await leastMib(pid);
    await openReaders(open, readers, from);
    const after = await leastMib(pid);
    context.say(`${readers} readers: ${Math.round(before)} MiB before, ${Math.round(after)} MiB with them`);
    return ((after - before) * 1024) / readers;
  } finally {
    for (const { socket } of open) socket.destroy();
    await stop();
  }
}

/** Events of the log of actions that its checkpoint covers, undefined while that is none. */
async function sizeOf(base: string): Promise<number | undefined> {
  const { logs } = (await (await fetch(`${base}/v1/logs`)).json()) as { logs: { stream: string; size: number }[] };
  return logs.find(({ stream }) => stream === 'ACTIONS')?.size || undefined;
}
