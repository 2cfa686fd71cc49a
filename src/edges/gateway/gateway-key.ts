import path from 'node:path';
import { AppError } from '../../commands/errors.ts';
import type { Config } from '../config.ts';
import { createChainClient } from '../cosmos/chain-client.ts';
import { ensureKeyFile, readKeyFile } from '../cosmos/key-file.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../cosmos/keys.ts';
import { dataFolder } from '../kit/instance.ts';
import { fund } from '../local-network/fund.ts';

/**
 * The key of the account that SuperNodes know the gateway by; the local network makes one and gives it coins.
 *
 * Fails with `INVALID_ARGUMENT` where a real network has none.
 */
export async function gatewayKey(config: Config, chainUrl: string): Promise<PrivateKey> {
  const { gatewayKeyFile: file, gatewayKeyType: type, isLocal } = config;
  if (file !== undefined) return await readKeyFile(file, type);
  if (!isLocal)
    throw new AppError(
      'INVALID_ARGUMENT',
      'The gateway needs the key of an account: name its file with GATEWAY_KEY_FILE, or leave the gateway out of ROLES',
    );
  const key = await ensureKeyFile(path.join(dataFolder(config), 'keys', 'gateway'), type);
  await fund(createChainClient(chainUrl), accountOf(publicKeyOf(key)));
  return key;
}
