import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { nodeArguments } from './node-arguments.ts';

/** What a verb of the command line came to. */
export type Ran = Readonly<{ status: number; stdout: string; stderr: string }>;

const entry = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

const command = [...nodeArguments, entry];

/** Runs a verb of the command line on the data of an instance, to its end. */
export function runVerb(dataDir: string, ...args: readonly string[]): Promise<Ran> {
  return startVerb(dataDir, ...args).ran;
}

/** The same as a process that can be looked at meanwhile. */
export function startVerb(dataDir: string, ...args: readonly string[]): { pid: number; ran: Promise<Ran> } {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const env = { ...process.env, DATA_DIR: dataDir };
  const { pid = 0 } = execFile(
    process.execPath,
    [...command, ...args],
    { env, timeout: 480_000, maxBuffer: 32 << 20 },
    (error, stdout, stderr) => resolve({ status: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
  );
  return { pid, ran: promise };
}

/** The lines of JSON that a verb printed. */
export function jsonLines(ran: Ran): Record<string, unknown>[] {
  const lines = ran.stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Runs a verb whose reader goes away after the first output, as `head` does. */
export async function runVerbUnread(dataDir: string, ...args: readonly string[]): Promise<Ran> {
  const env = { ...process.env, DATA_DIR: dataDir };
  const child = spawn(process.execPath, [...command, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdout.setEncoding('utf8');
  const [stdout] = (await once(child.stdout, 'data')) as [string];
  child.stdout.destroy();
  const [status] = (await once(child, 'close')) as [number | null];
  return { status: status ?? 1, stdout, stderr };
}
