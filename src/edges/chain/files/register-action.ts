import { randomInt } from 'node:crypto';
import { AppError } from '../../../kit/errors.ts';
import type { Sealed, Signer } from '../sign/signer.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../sign/keys.ts';
import { registrationMetadata } from './registration.ts';

/** A file to register: base64 of BLAKE3-256 of its bytes, how many there are, its name. */
export type Registrable = Readonly<{ dataHash: string; size: number; fileName: string; isPublic: boolean }>;

/** An action that the chain has now, waiting for its file. */
export type Registered = Readonly<{ actionId: string; creator: string; height: number; txHash: string }>;

/** The number of ids that the local chain requires of a file (`max_raptor_q_symbols` of its parameters). */
const idsWanted = 6;
const lifetimeSeconds = 86_400 + 3600;

/** Registers a file by a transaction of a key's account; fails as `Signer.send` does. */
export async function registerAction(chain: Signer, key: PrivateKey, file: Registrable): Promise<Registered> {
  const { size, ...named } = file;
  const creator = accountOf(publicKeyOf(key));
  const metadata = registrationMetadata(key, { ...named, counter: randomInt(1, 50), ids: idsWanted });
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
  return { actionId: actionIdIn(sealed), creator, height: sealed.height, txHash: sealed.txhash };
}

function actionIdIn({ events }: Sealed): string {
  const registered = events.find(({ type }) => type === 'action_registered');
  const id = registered?.attributes.find(({ key }) => key === 'action_id')?.value;
  if (id === undefined) throw new AppError('INTERNAL', 'The chain carried the registration out and names no action');
  return id;
}
