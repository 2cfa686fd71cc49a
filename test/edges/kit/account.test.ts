import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { accountOf, readKeyFile } from '../../../src/edges/kit/account.ts';

describe('accountOf', () => {
  const key = new Uint8Array(32).fill(1);

  it('gives one private key the two addresses that the chain gives it, by its type', () => {
    const prefix = 'lumera';
    expect(accountOf(key, { keyType: 'secp256k1', prefix })).toMatchObject({
      address: 'lumera10xcqpzrky6eff2g52qdye53xkk9jxkvrel68w3',
      publicKey: Uint8Array.from(Buffer.from('AxuExVZ7EmRAmV0+1aq6BWXXHhg0YEgZ/5wX9enV3QeP', 'base64')),
    });
    expect(accountOf(key, { keyType: 'eth_secp256k1', prefix }).address).toBe(
      'lumera1rfjz7r3u8t65teavh5utquj3kwvsj983mrr6xz',
    );
  });
});

describe('readKeyFile', () => {
  it('reads 64 hex digits, and says nothing of a content that is no key', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'annals-key-'));
    const file = path.join(folder, 'key');
    writeFileSync(file, `${'0a'.repeat(32)}\n`);
    expect(await readKeyFile(file)).toEqual(new Uint8Array(32).fill(10));
    for (const wrong of ['', 'secret words', '0'.repeat(64), 'f'.repeat(64), 'ab'.repeat(31)]) {
      writeFileSync(file, wrong);
      const refused = await readKeyFile(file).catch((caught: unknown) => String(caught));
      expect(refused).toBe(`AppError: The key file ${file} holds no private key of 64 hex digits`);
    }
    rmSync(folder, { recursive: true });
    await expect(readKeyFile(file)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
