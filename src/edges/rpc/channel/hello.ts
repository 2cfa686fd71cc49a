import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { AppError } from '../../../kit/errors.ts';
import type { PublicKey } from '../../../commands/ledger/chain.ts';
import { accountOf, isPublicKey, keyUrls, type PrivateKey, publicKeyOf, sign, verify } from '../../chain/sign/keys.ts';
import { HelloSchema } from '../../gen/chain/channel/v1/hello_pb.ts';
import { PubKeySchema } from '../../gen/chain/tx/v1/tx_pb.ts';

/** The two types of peers. */
export const peerTypes = { client: 1, superNode: 2 } as const;

/** The contents of a hello that its account's signature has verified. */
export type ProvenPeer = Readonly<{ address: string; type: 'client' | 'superNode'; point: Uint8Array }>;

/** A hello as it goes over the wire, and the signature over it. */
export type SignedHello = Readonly<{ hello: Uint8Array; signature: Uint8Array }>;

/** The hello of an account with a fresh point of P-256. */
export function writeHello(key: PrivateKey, type: ProvenPeer['type'], point: Uint8Array): SignedHello {
  const publicKey = publicKeyOf(key);
  const value = toBinary(PubKeySchema, create(PubKeySchema, { key: Buffer.from(publicKey.key, 'base64') }));
  const message = create(HelloSchema, {
    address: accountOf(publicKey),
    peerType: peerTypes[type],
    publicKey: point,
    accountPublicKey: { typeUrl: keyUrls[key.type], value },
    curve: 'P256',
  });
  const hello = toBinary(HelloSchema, message);
  return { hello, signature: sign(key, hello) };
}

/**
 * Reads a hello and checks, in this order, that the key belongs to its address, the signature to the key, and that the
 * peer is of a known type.
 *
 * Fails with `UNAUTHORIZED`. Does not check whether the chain knows the account.
 */
export function readHello({ hello, signature }: SignedHello): ProvenPeer {
  const { address, peerType, publicKey: point, accountPublicKey } = decode(() => fromBinary(HelloSchema, hello));
  const key = keyIn(accountPublicKey);
  if (accountOf(key) !== address) throw refused('its key does not belong to its address');
  if (!verify(key, hello, signature)) throw refused('its signature does not hold');
  if (peerType === peerTypes.client) return { address, type: 'client', point };
  if (peerType === peerTypes.superNode) return { address, type: 'superNode', point };
  throw refused(`${peerType} is no type of peer`);
}

function keyIn(any: Readonly<{ typeUrl: string; value: Uint8Array }> | undefined): PublicKey {
  const type = (['eth_secp256k1', 'secp256k1'] as const).find((one) => keyUrls[one] === any?.typeUrl);
  const { key } = decode(() => fromBinary(PubKeySchema, any?.value ?? new Uint8Array()));
  if (!type || !isPublicKey(key)) throw refused('it has no public key of a kind that is known');
  return { type, key: Buffer.from(key).toString('base64') };
}

function decode<T>(read: () => T): T {
  try {
    return read();
  } catch (caught) {
    throw refused('it cannot be read', caught);
  }
}

function refused(why: string, cause?: unknown): AppError {
  return new AppError('UNAUTHORIZED', `The hello of a secure channel is refused: ${why}`, { cause });
}
