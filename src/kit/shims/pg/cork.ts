/** pg 8.23.1 writes each statement to its socket by itself. */
import { Writable } from 'node:stream';
import type pg from 'pg';

/**
 * Lets all that is sent over a connection within this turn of the event loop leave in one piece: each piece wakes the
 * server.
 *
 * Reaches for the socket inside the driver's client; where a later driver keeps it elsewhere, everything is sent as
 * before, only slower.
 */
export function sendTogether(client: pg.ClientBase): void {
  const connection: unknown = Reflect.get(client, 'connection');
  const stream: unknown = connection instanceof Object ? Reflect.get(connection, 'stream') : undefined;
  if (!(stream instanceof Writable)) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}
