import { spawn } from 'node:child_process';
import { environmentOf } from './paths.mjs';

const LIFELINE_FD = 3;

/**
 * Becomes the program where Node can (no wrapper is left), else runs it as a child: terminal shared, TERM and HUP
 * passed on (Ctrl-C reaches it by itself), its end taken over, and a pipe that closes when this wrapper dies in any
 * way.
 */
export function handOver(node, args) {
  const env = environmentOf(node);
  delete env.ANNALS_LIFELINE_FD;
  if (node === process.execPath && process.execve) become(node, args, env);
  const child = spawn(node, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...env, ANNALS_LIFELINE_FD: String(LIFELINE_FD) },
  });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => undefined);
  child.on('error', (error) => {
    throw error;
  });
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** execve() is marked experimental and says so; the warning would be the first line of every start. */
function become(node, args, env) {
  process.removeAllListeners('warning');
  process.on('warning', () => undefined);
  process.execve(node, [node, ...args], env);
}
