import { randomInt } from 'node:crypto';
import path from 'node:path';
import { AppError } from '../../commands/errors.ts';
import type { KeyType } from '../../commands/ledger/chain.ts';
import { hashFile } from '../cascade/data-hash.ts';
import { registrationMetadata } from '../cascade/registration.ts';
import { configFromEnvironment } from '../config.ts';
import { createChainClient, type Sealed } from '../cosmos/chain-client.ts';
import { ensureKeyFile, readKeyFile } from '../cosmos/key-file.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../cosmos/keys.ts';
import { dataFolder, findInstance } from '../kit/instance.ts';
import { fund } from '../local-network/fund.ts';
import { print } from './output.ts';

/** Options of `annals register`; exactly one of `public` and `private` is given. */
export type RegisterOptions = Readonly<{
  json: boolean;
  public?: boolean;
  private?: boolean;
  keyFile?: string;
  keyType: string;
}>;

/** How many ids the local chain wants of a file (`max_raptor_q_symbols` of its parameters). */
const idsWanted = 6;
const lifetimeSeconds = 86_400 + 3600;

/**
 * `annals register FILE`: a pending action of the local network for a file, ready to be uploaded.
 *
 * Makes and funds the account of the key where it is new. A second run registers the file once more.
 */
export async function register(file: string, options: RegisterOptions): Promise<void> {
  if ((options.public ?? false) === (options.private ?? false))
    throw new AppError('INVALID_ARGUMENT', 'Say whether everybody may download the file: --public or --private');
  const config = configFromEnvironment();
  const { urls } = await findInstance(config);
  const url = urls['chain'];
  if (!config.isLocal || url === undefined)
    throw new AppError('FORBIDDEN', 'Only on the local network are files registered this way: it does not run here');
  const key = await keyOf(options, path.join(dataFolder(config), 'keys', 'user'));
  const { dataHash, size } = await hashFile(file);
  const chain = createChainClient(url);
  const creator = accountOf(publicKeyOf(key));
  await fund(chain, creator);
  const metadata = registrationMetadata(key, {
    dataHash,
    fileName: path.basename(file),
    isPublic: options.public ?? false,
    counter: randomInt(1, 50),
    ids: idsWanted,
  });
  const kilobytes = Math.ceil(size / 1024);
  const sealed = await chain.send(key, [
    {
      '@type': '/lumera.action.v1.MsgRequestAction',
      creator,
      actionType: 'CASCADE',
      metadata: JSON.stringify(metadata),
      price: `${await chain.actionFee(kilobytes)}ulume`,
      expirationTime: String(Math.floor(Date.now() / 1000) + lifetimeSeconds),
      fileSizeKbs: String(kilobytes),
      app_pubkey: null,
    },
  ]);
  const { txhash: tx_hash, height } = sealed;
  const action_id = actionIdIn(sealed);
  print(
    { action_id, creator, data_hash: dataHash, height, tx_hash },
    { json: options.json, human: () => `Registered ${file} as action ${action_id} of ${creator}, block ${height}.` },
  );
}

async function keyOf({ keyFile, keyType }: RegisterOptions, own: string): Promise<PrivateKey> {
  if (keyType !== 'eth_secp256k1' && keyType !== 'secp256k1')
    throw new AppError('INVALID_ARGUMENT', `--key-type is ${keyType}; it takes eth_secp256k1 or secp256k1`);
  const type: KeyType = keyType;
  return keyFile === undefined ? await ensureKeyFile(own, type) : await readKeyFile(keyFile, type);
}

function actionIdIn({ events }: Sealed): string {
  const registered = events.find(({ type }) => type === 'action_registered');
  const id = registered?.attributes.find(({ key }) => key === 'action_id')?.value;
  if (id === undefined) throw new AppError('INTERNAL', 'The chain carried the registration out and names no action');
  return id;
}
