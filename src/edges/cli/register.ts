import { randomInt } from 'node:crypto';
import path from 'node:path';
import { AppError } from '../../commands/errors.ts';
import { hashFile } from '../cascade/data-hash.ts';
import { registrationMetadata } from '../cascade/registration.ts';
import { configFromEnvironment } from '../config.ts';
import { createChainClient, type Sealed } from '../cosmos/chain-client.ts';
import { accountOf, publicKeyOf } from '../cosmos/keys.ts';
import { findInstance } from '../kit/instance.ts';
import { fund } from '../local-network/fund.ts';
import { print } from './output.ts';
import { type KeyOptions, userKey } from './transfer/network.ts';

/** Options of `annals register`; exactly one of `public` and `private` is given. */
export type RegisterOptions = KeyOptions & Readonly<{ json: boolean; public?: boolean; private?: boolean }>;

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
  const { actionId, creator, dataHash, height, txHash } = await registerFile(file, options);
  print(
    { action_id: actionId, creator, data_hash: dataHash, height, tx_hash: txHash },
    { json: options.json, human: () => `Registered ${file} as action ${actionId} of ${creator}, block ${height}.` },
  );
}

/** A file as the chain has it now. */
export type Registered = Readonly<{
  actionId: string;
  creator: string;
  dataHash: string;
  size: number;
  height: number;
  txHash: string;
}>;

/** Registers a file by a transaction of the user's; fails with `FORBIDDEN` away from the local network. */
export async function registerFile(
  file: string,
  options: KeyOptions & Readonly<{ public?: boolean }>,
): Promise<Registered> {
  const config = configFromEnvironment();
  const { urls } = await findInstance(config);
  const url = urls['chain'];
  if (!config.isLocal || url === undefined)
    throw new AppError('FORBIDDEN', 'Only on the local network are files registered this way: it does not run here');
  const key = await userKey(options, config);
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
  const { txhash: txHash, height } = sealed;
  return { actionId: actionIdIn(sealed), creator, dataHash, size, height, txHash };
}

function actionIdIn({ events }: Sealed): string {
  const registered = events.find(({ type }) => type === 'action_registered');
  const id = registered?.attributes.find(({ key }) => key === 'action_id')?.value;
  if (id === undefined) throw new AppError('INTERNAL', 'The chain carried the registration out and names no action');
  return id;
}
