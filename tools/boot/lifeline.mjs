import { Socket } from 'node:net';

/** Preloaded into programs that boot.mjs runs as a child: ends them when the wrapper is gone. */
const fd = Number(process.env.ANNALS_LIFELINE_FD);
delete process.env.ANNALS_LIFELINE_FD;
if (fd) {
  const lifeline = new Socket({ fd, readable: true, writable: false });
  lifeline.on('error', () => undefined);
  lifeline.on('close', end);
  lifeline.resume();
  lifeline.unref();
}

/** Asks first, so that the program can end its own children. */
function end() {
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(1), 5_000).unref();
}
