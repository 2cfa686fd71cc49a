import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Session } from 'node:http2';
import { type ContextValues, createContextKey, createContextValues } from '@connectrpc/connect';

const key = createContextKey('', { description: 'address of the caller' });
const closedKey = createContextKey((): boolean => false, { description: 'whether the call is closed' });
const sessions = new WeakMap<ServerHttp2Session, string>();

/** Notes the address of whoever is at the other end of a session: its own stream may have none. */
export function setCaller(session: ServerHttp2Session, ip: string): void {
  sessions.set(session, ip);
}

/** Gives a call the address of its caller, and whether it is still open. */
export function callerValues(request: IncomingMessage | Http2ServerRequest): ContextValues {
  const session = 'stream' in request ? (request.stream.session as ServerHttp2Session | undefined) : undefined;
  const ip = (session && sessions.get(session)) ?? request.socket?.remoteAddress ?? '';
  const isClosed = (): boolean => ('stream' in request ? request.stream.closed : request.socket.destroyed);
  return createContextValues().set(key, ip).set(closedKey, isClosed);
}

/** Whether nobody receives the answer of a call any more: its client has gone, or was cut off. */
export function isCallClosed(values: ContextValues): boolean {
  return values.get(closedKey)();
}

/** The address of the caller; empty where its connection has ended before. */
export function callerIn({ values }: Readonly<{ values: ContextValues }>): string {
  return values.get(key);
}
