import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a verb of the command line came to. */
export type Ran = Readonly<{ status: number; stdout: string; stderr: string }>;

const entry = fileURLToPath(new URL('../../src/edges/cli/main.ts', import.meta.url));

/** Runs a verb of the command line on the data of an instance, to its end. */
export async function runVerb(dataDir: string, ...args: readonly string[]): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const env = { ...process.env, DATA_DIR: dataDir };
  const command = ['--disable-warning=ExperimentalWarning', entry, ...args];
  execFile(process.execPath, command, { env, timeout: 60_000, maxBuffer: 32 << 20 }, (error, stdout, stderr) =>
    resolve({ status: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
  );
  return await promise;
}

/** The lines of JSON that a verb printed. */
export function jsonLines(ran: Ran): Record<string, unknown>[] {
  const lines = ran.stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
