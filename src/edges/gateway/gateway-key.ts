import { AppError } from '../../kit/errors.ts';
import type { KeyType } from '../../commands/ledger/chain.ts';
import type { ChainClient } from '../chain/rest/client.ts';
import { readKeyFile } from '../chain/sign/key-file.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../chain/sign/keys.ts';
import { createSigner, type Signer } from '../chain/sign/signer.ts';

/** Returns the key that identifies the gateway to nodes; called for every connection. */
export type KeySource = () => Promise<PrivateKey>;

/** The settings of the gateway's key. */
type KeySettings = Readonly<{ gatewayKeyFile: string | undefined; gatewayKeyType: KeyType | undefined }>;

/** Types of keys, in the order in which the chain is queried for their accounts. */
const types: readonly KeyType[] = ['eth_secp256k1', 'secp256k1'];

/**
 * The key of the account that SuperNodes know the gateway by; `makeKey` makes one where no file is set, which only the
 * local network can.
 *
 * Where its type is not set, it is that of the key's accounts which the chain knows; the chain is queried when the key
 * is first needed, so a chain that is away at the start delays nothing.
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

/** A key of the type whose account the chain knows; queries the chain until it knows one. */
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
