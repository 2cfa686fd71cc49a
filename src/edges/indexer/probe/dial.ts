import { connect, type Socket } from 'node:net';
import { AppError } from '../../../commands/errors.ts';
import type { PortResult } from '../../../commands/probing.ts';

/** An open connection, or how the attempt ended. */
export type Dialled =
  Readonly<{ outcome: 'open'; socket: Socket }> | Readonly<{ outcome: Exclude<PortResult, 'open' | 'not_dialled'> }>;

/** Opens a TCP connection to a literal address. */
export type Dial = (ip: string, port: number, options: DialOptions) => Promise<Dialled>;

/** How long a connection may take, and what calls it off. */
export type DialOptions = Readonly<{ connectMs: number; signal: AbortSignal }>;

/** Faults of this machine, which say nothing of the node. */
const ownFaults = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'];

/**
 * Connects to a port, and says how that went.
 *
 * Fails only when it is called off, or with `UNAVAILABLE` when this machine has no socket left: neither is an outcome
 * of the node. Whoever gets a socket has to close it.
 */
export const dialPort: Dial = (ip, port, { connectMs, signal }) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect({ host: ip, port, noDelay: true });
    const timer = setTimeout(() => settle({ outcome: 'timeout' }), connectMs);
    const stop = () => {
      settle({ outcome: 'timeout' });
      reject(signal.reason);
    };
    const settle = (dialled: Dialled) => {
      clearTimeout(timer);
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
