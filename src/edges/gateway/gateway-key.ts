import { AppError } from '../../kit/errors.ts';
import type { KeyType } from '../../commands/ledger/chain.ts';
import type { ChainClient } from '../chain/rest/client.ts';
import { readKeyFile } from '../chain/sign/key-file.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../chain/sign/keys.ts';
import { createSigner, type Signer } from '../chain/sign/signer.ts';

/** The key that nodes are spoken to with; asked for with every connection. */
export type KeySource = () => Promise<PrivateKey>;

/** The settings of the gateway's key. */
type KeySettings = Readonly<{ gatewayKeyFile: string | undefined; gatewayKeyType: KeyType | undefined }>;

/** Types of keys, in the order in which the accounts of one are looked for. */
const types: readonly KeyType[] = ['eth_secp256k1', 'secp256k1'];

/**
 * The key of the account that SuperNodes know the gateway by; `makeKey` gives one where no file is set, which the local
 * network alone can.
 *
 * Where its type is not set, it is that of the key's accounts which the chain knows; the chain is asked when the key is
 * first needed, so a chain that is away at the start holds nothing up.
 *
 * Fails with `INVALID_ARGUMENT` where a real network has none, or the file cannot be used.
 */
export async function gatewayKey(
  { gatewayKeyFile: file, gatewayKeyType: type }: KeySettings,
  chain: ChainClient,
  makeKey?: (type: KeyType) => Promise<PrivateKey>,
): Promise<KeySource> {
  if (file !== undefined) {
    const key = await readKeyFile(file, type ?? 'eth_secp256k1');
    return type === undefined ? knownOnChain(key, createSigner(chain)) : async () => await Promise.resolve(key);
  }
  if (!makeKey)
    throw new AppError(
      'INVALID_ARGUMENT',
      'The gateway needs the key of an account: name its file with GATEWAY_KEY_FILE, or leave the gateway out of ROLES',
    );
  const key = await makeKey(type ?? 'eth_secp256k1');
  return async () => await Promise.resolve(key);
}

/** A key as that of its two accounts which the chain knows; asks until there is one. */
export function knownOnChain({ bytes }: PrivateKey, chain: Pick<Signer, 'account'>): KeySource {
  let known: PrivateKey | undefined;
  return async () => {
    if (known) return known;
    for (const type of types) {
      const key = { type, bytes };
      if (await chain.account(accountOf(publicKeyOf(key)))) return (known = key);
    }
    throw new AppError(
      'UNAVAILABLE',
      'The chain knows no account of the key in GATEWAY_KEY_FILE: fund it, or set GATEWAY_KEY_TYPE',
    );
  };
}
