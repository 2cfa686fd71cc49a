import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The name of a folder of transfers, which is stored in it: gateways that find the same one share the folder. */
export async function ensureStoreId(folder: string): Promise<string> {
  const file = path.join(folder, 'store-id');
  await writeFile(file, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600, flush: true }).catch((caught: unknown) => {
    if (!(caught instanceof Error && 'code' in caught && caught.code === 'EEXIST')) throw caught;
  });
  return (await readFile(file, 'utf8')).trim();
}
