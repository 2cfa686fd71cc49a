import path from 'node:path';
import { AppError } from '../kit/errors.ts';
import { hashFile } from '../edges/chain/files/data-hash.ts';
import { type Registered, registerAction } from '../edges/chain/files/register-action.ts';
import { configFromEnvironment } from '../config.ts';
import { createChainClient } from '../edges/chain/rest/client.ts';
import { loadProfile } from '../edges/chain/rest/profile.ts';
import { createSigner } from '../edges/chain/sign/signer.ts';
import { findInstance } from '../engine/servers/instance.ts';
import { fund } from '../edges/local-network/fund.ts';
import { print } from './output.ts';
import { type KeyOptions, userKey } from './transfer/network.ts';

/** Options of `annals register`; exactly one of `public` and `private` is present. */
type RegisterOptions = KeyOptions & Readonly<{ json: boolean; public?: boolean; private?: boolean }>;

/**
 * `annals register FILE`: a pending action of the local network for a file, ready to be uploaded.
 *
 * Makes and funds the account of the key where it is new. A second run registers the file once more.
 */
export async function register(file: string, options: RegisterOptions): Promise<void> {
  if ((options.public ?? false) === (options.private ?? false))
    throw new AppError('INVALID_ARGUMENT', 'Say whether everybody may download the file: --public or --private');
  const { actionId, creator, dataHash, height, txHash } = await registerFile(file, options);
  print(
    { action_id: actionId, creator, data_hash: dataHash, height, tx_hash: txHash },
    { json: options.json, human: () => `Registered ${file} as action ${actionId} of ${creator}, block ${height}.` },
  );
}

/** A file as the chain has it now. */
type RegisteredFile = Registered & Readonly<{ dataHash: string; size: number }>;

/** Registers a file by a transaction of the user's; fails with `FORBIDDEN` away from the local network. */
export async function registerFile(
  file: string,
  options: KeyOptions & Readonly<{ public?: boolean }>,
): Promise<RegisteredFile> {
  const config = configFromEnvironment();
  const { urls } = await findInstance(config);
  const url = urls['chain'];
  if (!config.isLocal || url === undefined)
    throw new AppError('FORBIDDEN', 'Only on the local network are files registered this way: it does not run here');
  const key = await userKey(options, config);
  const { dataHash, size } = await hashFile(file);
  const client = createChainClient(url, loadProfile(config.network));
  const signer = createSigner(client);
  try {
    await fund(signer, key);
    const named = { fileName: path.basename(file), isPublic: options.public ?? false };
    return { dataHash, size, ...(await registerAction(signer, key, { dataHash, size, ...named })) };
  } finally {
    await client.close();
  }
}
