import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import type { Context } from '../context.ts';

/** Starts a program of this folder with the memory that the product gives itself; it ends with the group. */
export function startProgram(context: Context, file: string, args: readonly string[]): ChildProcess {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const execArgv = [...process.execArgv, ...lean];
  const child = fork(script, [...args], { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  context.defer(() => child.kill());
  return child;
}
