import { connect, type ConnectionOptions, type NatsConnection, wsconnect } from '@nats-io/transport-node';
import { AppError } from '../../kit/errors.ts';
import { failRequestsAtBreak } from './breaks.ts';

/** Address and credentials of a broker; credentials in the address take precedence over `user` and `pass`. */
export type BrokerAddress = Readonly<{ url: string; user?: string; pass?: string; name: string }>;

const pingIntervalMs = 10_000;
const firstConnectWithinMs = 10_000;

/**
 * Connects to a broker, or to one of several separated by commas; once connected it reconnects without end, and a
 * request whose answer is lost with the connection fails at once.
 *
 * Fails with `UNAVAILABLE` when none answers at first. Secrets never appear in the message.
 *
 * @example await connectNats({ url: 'nats://annals:secret@127.0.0.1:4222', name: 'indexer' })
 */
export async function connectNats(options: BrokerAddress): Promise<NatsConnection> {
  const { servers, secure, webSocket, user, pass } = readAddress(options);
  const connection: ConnectionOptions = {
    servers,
    name: options.name,
    noAsyncTraces: true,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => 50 + Math.random() * 450,
    ignoreAuthErrorAbort: true,
    pingInterval: pingIntervalMs,
    timeout: firstConnectWithinMs,
    ...(user === undefined ? {} : { user, pass: pass ?? '' }),
    ...(secure ? { tls: {} } : {}),
  };
  try {
    const nc = await (webSocket ? wsconnect(connection) : connect(connection));
    failRequestsAtBreak(nc);
    return nc;
  } catch (caught) {
    const why = caught instanceof Error ? caught.message : String(caught);
    throw new AppError('UNAVAILABLE', `No broker could be reached at ${servers.join(', ')}: ${why}`, { cause: caught });
  }
}

type Address = Readonly<{
  servers: string[];
  secure: boolean;
  webSocket: boolean;
  user: string | undefined;
  pass: string | undefined;
}>;

/**
 * The client accepts no credentials in addresses, so this removes them; the first address that has any provides those
 * for all.
 */
function readAddress({ url, user, pass }: BrokerAddress): Address {
  const urls = url.split(',').map((one) => new URL(one.trim()));
  const named = urls.find(({ username }) => username !== '');
  return {
    servers: urls.map(({ protocol, host }) => `${protocol}//${host}`),
    secure: urls.some(({ protocol }) => protocol === 'tls:'),
    webSocket: urls.some(({ protocol }) => protocol === 'ws:' || protocol === 'wss:'),
    user: named ? decodeURIComponent(named.username) : user,
    pass: named ? decodeURIComponent(named.password) : pass,
  };
}
