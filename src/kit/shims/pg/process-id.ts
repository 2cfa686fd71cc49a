/** pg 8.23.1 documents no way to the process id of the server’s side. */
import type pg from 'pg';

/** Process id of the server's side of a connection; the driver keeps it and documents it nowhere. */
export function processIdOf(client: pg.ClientBase): number | undefined {
  const pid: unknown = Reflect.get(client, 'processID');
  return typeof pid === 'number' ? pid : undefined;
}
