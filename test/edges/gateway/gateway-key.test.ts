import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { parseConfig } from '../../../src/config.ts';
import { createChainClient } from '../../../src/edges/chain/rest/client.ts';
import { accountOf, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { gatewayKey, knownOnChain } from '../../../src/edges/gateway/gateway-key.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';

const bytes = new Uint8Array(32).fill(5);
const account = { number: 1, sequence: 0, balance: 1n };

it('a key is of the type whose account the chain knows', { tags: ['S3.nodes.key-type'] }, async () => {
  for (const type of ['eth_secp256k1', 'secp256k1'] as const) {
    const own = accountOf(publicKeyOf({ type, bytes }));
    let asked = 0;
    const chain = {
      account: async (address: string) => {
        asked += 1;
        return await Promise.resolve(address === own ? account : undefined);
      },
    };
    const keyOf = knownOnChain({ type: 'eth_secp256k1', bytes }, chain);
    expect(await keyOf()).toEqual({ type, bytes });
    const before = asked;
    await keyOf();
    expect(asked).toBe(before);
  }
});

it('a key is asked for again while the chain is away or knows none', { tags: ['S3.nodes.key-type'] }, async () => {
  const answers = [
    async () => await Promise.reject(new AppError('UNAVAILABLE', 'away')),
    async () => await Promise.resolve(undefined),
    async () => await Promise.resolve(undefined),
    async () => await Promise.resolve(account),
  ];
  const keyOf = knownOnChain({ type: 'eth_secp256k1', bytes }, { account: async () => await answers.shift()?.() });
  await expect(keyOf()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(keyOf()).rejects.toThrow('GATEWAY_KEY_TYPE');
  expect((await keyOf()).type).toBe('eth_secp256k1');
});

it(
  'a gateway of a real network is refused without a key, and reads one with blanks',
  { tags: ['S3.nodes.key-file'] },
  async () => {
    const { folder, remove } = freshFolder();
    onTestFinished(remove);
    const GATEWAY_KEY_FILE = path.join(folder, 'key');
    const real = { CHAIN_API_BASE: 'http://127.0.0.1:1', ROLES: 'gateway', GATEWAY_KEY_TYPE: 'secp256k1' };
    const keyOf = async (env: Record<string, string>) =>
      (await gatewayKey(parseConfig(env), createChainClient(real.CHAIN_API_BASE, { restPrefix: '' })))();
    await expect(keyOf(real)).rejects.toThrow('GATEWAY_KEY_FILE');
    await expect(keyOf({ ...real, GATEWAY_KEY_FILE })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    writeFileSync(GATEWAY_KEY_FILE, ` ${Buffer.from(bytes).toString('hex')}\r\n`);
    const key = await keyOf({ ...real, GATEWAY_KEY_FILE });
    expect([key.type, Buffer.from(key.bytes).equals(bytes)]).toEqual(['secp256k1', true]);
  },
);
