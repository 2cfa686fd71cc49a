import { randomBytes } from 'node:crypto';
import { RequestTransfer, type Requested } from '../../src/commands/transfers/request.ts';
import { RecordRetrievals, RecordTransfers } from '../../src/commands/transfers/steps.ts';
import { dispatch } from '../../src/edges/bus.ts';
import type { BrokerAccess } from '../../src/engine/log/broker.ts';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../src/engine/log/log.ts';
import { ensureStreams } from '../../src/engine/log/streams.ts';

const batchTasks = 400;

/** Writes so many downloads of a gateway that is gone, each begun and ended, half of them of private files. */
export async function endTransfers(access: BrokerAccess, network: string, count: number): Promise<void> {
  const connection = await connectNats({ ...access, name: 'ended tasks' });
  try {
    await ensureStreams(connection, network);
    const log = createLog(connection, network);
    for (let done = 0; done < count; done += batchTasks)
      await endMany(log, Math.min(batchTasks, count - done), (done / batchTasks) % 2 === 0);
  } finally {
    await connection.close();
  }
}

async function endMany(log: Log, count: number, isPrivate: boolean): Promise<void> {
  const at = new Date().toISOString();
  const requested: Requested = { direction: 'download', isPrivate, action: '7', at, store: 'gone', holder: 'gone.1' };
  const names = Array.from({ length: count }, () => randomBytes(isPrivate ? 32 : 16).toString('hex'));
  await dispatch(log, new RequestTransfer(new Map(names.map((name) => [name, requested])), { at }));
  const steps = [{ status: 'sdk:completed' }];
  const ends = names.map((task) => [task, { task, at, steps, holder: 'gone.1' }] as const);
  await dispatch(log, new (isPrivate ? RecordRetrievals : RecordTransfers)(new Map(ends), { at }));
}
