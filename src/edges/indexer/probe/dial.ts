import { connect, type Socket } from 'node:net';
import { AppError } from '../../../kit/errors.ts';
import { countDown } from '../../../kit/wait.ts';
import type { PortResult } from '../../../commands/probing.ts';

/** An open connection, or how the attempt ended. */
type Dialled =
  Readonly<{ outcome: 'open'; socket: Socket }> | Readonly<{ outcome: Exclude<PortResult, 'open' | 'not_dialled'> }>;

/** Opens a TCP connection to a literal address. */
export type Dial = (ip: string, port: number, options: DialOptions) => Promise<Dialled>;

/** How long a connection may take, and what calls it off. */
type DialOptions = Readonly<{ connectMs: number; signal: AbortSignal }>;

/** Faults of this machine, which are no result of the node. */
const ownFaults = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'];

/**
 * Connects to a port, and returns the result.
 *
 * Fails only when it is cancelled, or with `UNAVAILABLE` when this machine has no socket left: neither is a result of
 * the node. The caller has to close the socket.
 */
export const dialPort: Dial = (ip, port, { connectMs, signal }) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect({ host: ip, port, noDelay: true });
    const late = countDown(connectMs, () => settle({ outcome: 'timeout' }));
    const stop = () => {
      settle({ outcome: 'timeout' });
      reject(signal.reason);
    };
    const settle = (dialled: Dialled) => {
      late.stop();
      signal.removeEventListener('abort', stop);
      socket.removeAllListeners('connect');
      if (dialled.outcome !== 'open') socket.destroy();
      if (!signal.aborted) resolve(dialled);
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.once('connect', () => settle({ outcome: 'open', socket }));
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (ownFaults.includes(code))
        reject(new AppError('UNAVAILABLE', `Could not open a socket to probe with: ${code}`));
      settle({ outcome: outcomeOf(code) });
    });
  });

function outcomeOf(code: string): 'refused' | 'timeout' | 'unreachable' {
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'refused';
  return code === 'ETIMEDOUT' ? 'timeout' : 'unreachable';
}

/** A number of sockets; callers are served in the order of their requests. */
export class SocketBudget {
  #free: number;
  readonly #waiting: { count: number; begin: () => void }[] = [];

  constructor(sockets: number) {
    this.#free = sockets;
  }

  /** Waits until so many are free at once. */
  take(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, begin: resolve });
      this.#serve();
    });
  }

  give(count: number): void {
    this.#free += count;
    this.#serve();
  }

  #serve(): void {
    for (let [next] = this.#waiting; next && next.count <= this.#free; [next] = this.#waiting) {
      this.#waiting.shift();
      this.#free -= next.count;
      next.begin();
    }
  }
}

/**
 * Runs work that dials some ports at once, with a socket for each of them.
 *
 * A port that is only dialled frees its socket as soon as that is done, the port `asked` when the work is: a node that
 * answers slowly occupies one socket, not all.
 */
export async function withSockets<T>(
  budget: SocketBudget,
  { count, asked, dial }: Readonly<{ count: number; asked: number; dial: Dial }>,
  work: (dial: Dial) => Promise<T>,
): Promise<T> {
  await budget.take(count);
  let held = count;
  const knocking: Dial = async (ip, port, options) => {
    const dialled = await dial(ip, port, options);
    if (port !== asked && held > 1) {
      held -= 1;
      budget.give(1);
    }
    return dialled;
  };
  try {
    return await work(knocking);
  } finally {
    budget.give(held);
  }
}
