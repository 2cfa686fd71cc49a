import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** From where on the system gives ports to whoever asks for any, and to outgoing connections. */
const lowestGiven = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
const lowest = 10_240;
const drawn = new Set<number>();

/**
 * A free port of 127.0.0.1 for a server that ends and starts again on it: the system gives it to nobody else meanwhile.
 *
 * Each is drawn once by a process; tests that run at the same time draw others, but for one in some ten thousand.
 */
export async function steadyPort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, Math.max(lowestGiven, lowest + 1_000));
    if (drawn.has(port) || !(await isFree(port))) continue;
    drawn.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
