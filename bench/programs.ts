import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import lean from '../tools/boot/lean.json' with { type: 'json' };
import type { Context } from './context.ts';

/**
 * Starts a program of the bench with the memory that the product gives itself; it ends with the group at the latest.
 *
 * `file` is below this folder.
 */
export function startProgram(context: Context, file: string, args: readonly string[]): ChildProcess {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const execArgv = [...process.execArgv, ...lean];
  const child = fork(script, [...args], { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  context.defer(() => child.kill());
  return child;
}

/** The first message of a program, which goes on; fails where it ends without one. */
async function firstMessage<Message>({ signal }: Context, program: ChildProcess): Promise<Message> {
  const ended = once(program, 'exit').then(() => {
    throw new Error('A program of the bench ended before it had said anything');
  });
  const [message] = (await Promise.race([once(program, 'message', { signal }), ended])) as [Message];
  return message;
}

/** Starts a server, which says first where it listens; gives that address. */
export async function startServer(context: Context, file: string, args: readonly string[]): Promise<string> {
  return await firstMessage(context, startProgram(context, file, args));
}

/** Runs a program for the one message that it sends, its result. */
export async function resultOf<Result>(context: Context, file: string, args: readonly string[]): Promise<Result> {
  const program = startProgram(context, file, args);
  try {
    return await firstMessage(context, program);
  } finally {
    program.kill();
  }
}
