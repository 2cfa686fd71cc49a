import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { type Program, runProgram, type RunOptions } from './run-program.ts';

export type { LogLine, Program } from './run-program.ts';

/** How to start the program; without `dataDir` a new one, which is removed when the test file is over. */
export type ProgramOptions = Partial<RunOptions>;

const started = new Set<Program>();
const folders = new Set<string>();

afterAll(async () => {
  await Promise.all([...started].map((program) => program.stop()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  folders.clear();
});

/**
 * A new folder for `DATA_DIR`, which PostgreSQL may enter whoever runs it; it is removed when the test file is over.
 */
export function dataFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-e2e-'));
  chmodSync(folder, 0o711);
  folders.add(folder);
  return folder;
}

/**
 * Starts `annals up` as `runProgram` does; it ends with the test file in any case, which runs in a process of its own
 * (`vitest.config.ts`).
 *
 * @example const program = await startProgram({ env: { CHAIN_API_BASE: chain.url } })
 */
export async function startProgram(options: ProgramOptions = {}): Promise<Program> {
  const program = await runProgram({ ...options, dataDir: options.dataDir ?? dataFolder() });
  started.add(program);
  return program;
}
