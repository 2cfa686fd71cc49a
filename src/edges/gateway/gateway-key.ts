import path from 'node:path';
import { AppError } from '../../kit/errors.ts';
import type { KeyType } from '../../commands/ledger/chain.ts';
import type { Parsed } from '../../kit/setting.ts';
import type { gatewaySettings } from './settings.ts';
import { type ChainClient, type ChainClientOptions, createChainClient } from '../chain/sign/chain-client.ts';
import { ensureKeyFile, readKeyFile } from '../chain/sign/key-file.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../chain/sign/keys.ts';
import { dataFolder } from '../../engine/servers/instance.ts';
import { fund } from '../local-network/fund.ts';

/** The key that nodes are spoken to with; asked for with every connection. */
export type KeySource = () => Promise<PrivateKey>;

/** What tells which key the gateway has. */
type KeyConfig = Pick<Parsed<typeof gatewaySettings>, 'gatewayKeyFile' | 'gatewayKeyType'> &
  Readonly<{ isLocal: boolean; dataDir: string; network: string }>;

/** Types of keys, in the order in which the accounts of one are looked for. */
const types: readonly KeyType[] = ['eth_secp256k1', 'secp256k1'];

/**
 * The key of the account that SuperNodes know the gateway by; the local network makes one and gives it coins.
 *
 * Where its type is not set, it is that of the key's accounts which the chain knows; the chain is asked when the key is
 * first needed, so a chain that is away at the start holds nothing up.
 *
 * Fails with `INVALID_ARGUMENT` where a real network has none, or the file cannot be used.
 */
export async function gatewayKey(config: KeyConfig, chainUrl: string, profile: ChainClientOptions): Promise<KeySource> {
  const { gatewayKeyFile: file, gatewayKeyType: type, isLocal } = config;
  const chain = createChainClient(chainUrl, profile);
  if (file !== undefined) {
    const key = await readKeyFile(file, type ?? 'eth_secp256k1');
    return type === undefined ? knownOnChain(key, chain) : async () => await Promise.resolve(key);
  }
  if (!isLocal)
    throw new AppError(
      'INVALID_ARGUMENT',
      'The gateway needs the key of an account: name its file with GATEWAY_KEY_FILE, or leave the gateway out of ROLES',
    );
  const key = await ensureKeyFile(path.join(dataFolder(config), 'keys', 'gateway'), type ?? 'eth_secp256k1');
  await fund(chain, accountOf(publicKeyOf(key)));
  return async () => await Promise.resolve(key);
}

/** A key as that of its two accounts which the chain knows; asks until there is one. */
export function knownOnChain({ bytes }: PrivateKey, chain: Pick<ChainClient, 'account'>): KeySource {
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
