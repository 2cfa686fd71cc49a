import type { NatsConnection } from '@nats-io/transport-node';
import { connectNats } from '../src/edges/nats/connection.ts';
import { createLog, type Log } from '../src/edges/nats/log.ts';
import { ensureStreams } from '../src/edges/nats/streams.ts';
import type { Context } from './context.ts';

/** A connection to the group's broker, as the program makes it. */
export async function connectTo(context: Context, grade: Parameters<Context['nats']>[0]): Promise<NatsConnection> {
  const { url, user, pass } = await context.nats(grade);
  const nc = await connectNats({ url, user, pass, name: 'bench' });
  context.defer(() => nc.close());
  return nc;
}

/** An empty log of a network of its own. */
export async function freshLog(nc: NatsConnection): Promise<{ log: Log; network: string }> {
  const network = freshNetwork();
  await ensureStreams(nc, network);
  return { log: createLog(nc, network), network };
}

let networks = 0;

/** A network name that nobody else uses. */
export function freshNetwork(): string {
  return `bench${++networks}`;
}
