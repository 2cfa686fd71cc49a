import path from 'node:path';
import { installLocked } from './install-locked.ts';

/** Installs what `test/clients` drives, before the first of its files runs. */
export default async function setup(): Promise<void> {
  const folder = path.join(import.meta.dirname, '../../clients');
  await installLocked(folder, 'the clients of others', (line) => process.stderr.write(`${line}\n`));
}
