import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isReleased } from '../../../kit/shims/http/released-connection.ts';

type Answering = { open: number; stalls: number; at: number };

/** A client is cut off at the last of so many checks in a row at which it had taken nothing. */
const checks = 4;

/**
 * Cuts off clients that take nothing of an answer for `stallMs`: what an answer holds, memory or an open file, is not
 * held for ever. An answer that waits for its own handler has no limit, and neither has one of which any byte is taken.
 *
 * A time in which this process stood still counts as one check at most.
 */
export function cutStalledReaders(server: Server, stallMs: number): void {
  const eachMs = stallMs / checks;
  const all = new WeakMap<Socket, Answering>();
  server.on('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    const answering = all.get(socket) ?? { open: 0, stalls: 0, at: 0 };
    all.set(socket, answering);
    answering.open += 1;
    socket.setTimeout(eachMs);
    // A released connection may carry a stream on after that.
    answer.once('close', () => {
      if (!isReleased(socket)) answering.open -= 1;
    });
  });
  server.on('timeout', (socket: Socket) => {
    const answering = all.get(socket);
    // Kept alive for long enough: Node ends such itself only where nobody listens.
    if (!answering || answering.open === 0) return void socket.destroy();
    if (socket.writableLength > 0 && isStalled(answering, eachMs)) return void socket.destroy();
    socket.setTimeout(eachMs);
  });
}

function isStalled(answering: Answering, eachMs: number): boolean {
  const now = performance.now();
  answering.stalls = now - answering.at < 1.5 * eachMs ? answering.stalls + 1 : 1;
  answering.at = now;
  return answering.stalls >= checks;
}
