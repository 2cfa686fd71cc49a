import { Socket } from 'node:net';

/**
 * Calls `onGone` once when the process that started this one is gone, killed with `kill -9` included.
 *
 * A process that runs the program as a child may pass it the end of a pipe (`ANNALS_LIFELINE_FD`); without one nothing
 * is watched. Does not keep the event loop alive.
 */
export function watchLifeline(onGone: () => void): void {
  const fd = Number(process.env.ANNALS_LIFELINE_FD);
  delete process.env.ANNALS_LIFELINE_FD;
  if (!fd) return;
  const lifeline = new Socket({ fd, readable: true, writable: false });
  lifeline.on('error', () => undefined);
  lifeline.once('close', onGone);
  lifeline.resume();
  lifeline.unref();
}
