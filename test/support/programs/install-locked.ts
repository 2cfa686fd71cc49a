import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run, type Report, whileSaying } from '../../../src/engine/servers/commands.ts';

const installWithinMs = 300_000;

/**
 * Installs the packages of a folder as the lock beside its package.json says, unless this very lock was installed
 * before. Packages that only tests or the bench need lie in folders of their own, so that nobody else fetches them.
 *
 * Fails with npm's first word why.
 */
export async function installLocked(folder: string, what: string, say: Report, signal?: AbortSignal): Promise<void> {
  const lock = await readFile(path.join(folder, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  const mark = path.join(folder, 'node_modules/.installed');
  if ((await readFile(mark, 'utf8').catch(() => '')) === wanted) return;
  const options = { cwd: folder, timeoutMs: installWithinMs, ...(signal && { signal }) };
  const npmCi = () =>
    run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--loglevel=error', '--no-progress'], options);
  try {
    await whileSaying(say, `installing ${what}`, npmCi);
  } catch (caught) {
    throw new Error(`not installed (${firstLine(caught)})`, { cause: caught });
  }
  await writeFile(mark, wanted);
}

/** npm names the kind of failure first and says last where its log lies. */
function firstLine(caught: unknown): string {
  const stderr = caught instanceof Error && 'stderr' in caught ? caught.stderr : undefined;
  const said = typeof stderr === 'string' && stderr !== '' ? stderr : String(caught);
  return (said.trim().split('\n', 1)[0] ?? '').replace(/^npm error /, '').slice(0, 200);
}
