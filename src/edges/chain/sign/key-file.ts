import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../kit/errors.ts';
import type { KeyType } from '../../../commands/ledger/chain.ts';
import { isPrivateKey, type PrivateKey } from './keys.ts';

/** Fails with `INVALID_ARGUMENT` that names the file and never shows its contents. */
export async function readKeyFile(file: string, type: KeyType): Promise<PrivateKey> {
  const text = await readFile(file, 'utf8').catch((caught: unknown) => {
    throw new AppError('INVALID_ARGUMENT', `The key file ${file} cannot be read`, { cause: caught });
  });
  const digits = text.trim().replace(/^0x/, '');
  const bytes = Buffer.from(/^[0-9a-fA-F]{64}$/.test(digits) ? digits : '', 'hex');
  if (!isPrivateKey(bytes))
    throw new AppError('INVALID_ARGUMENT', `The key file ${file} must hold a key of 64 hex digits`);
  return { type, bytes };
}

/** The key in a file, which is made with a new key where it is not there; only its owner may read it. */
export async function ensureKeyFile(file: string, type: KeyType): Promise<PrivateKey> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, `${newKey().toString('hex')}\n`, { mode: 0o600, flag: 'wx' }).catch((caught: unknown) => {
    const isThere = caught instanceof Error && 'code' in caught && caught.code === 'EEXIST';
    if (!isThere) throw caught;
  });
  return await readKeyFile(file, type);
}

function newKey(): Buffer {
  for (;;) {
    const bytes = randomBytes(32);
    if (isPrivateKey(bytes)) return bytes;
  }
}
