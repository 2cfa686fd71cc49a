import { create } from '@bufbuild/protobuf';
import { accountOf, isPublicKey, type PrivateKey, publicKeyOf, sign, verify } from '../../chain/sign/keys.ts';
import { type Credentials, CredentialsSchema } from '../../gen/annals/peers/v1/peers_pb.ts';

/** The text that an account's key signs for a peer: nothing that it signs elsewhere reads like this. */
const textOf = (peerId: string): Buffer => Buffer.from(`annals peer ${peerId}`);

/** The proof that a peer speaks for the account of a key. */
export function credentialsFor(key: PrivateKey, peerId: string): Credentials {
  const publicKey = Buffer.from(publicKeyOf(key).key, 'base64');
  return create(CredentialsSchema, { keyType: key.type, publicKey, signature: sign(key, textOf(peerId)) });
}

/** The account that a peer has proven to speak for; undefined where it has not. */
export function accountIn(credentials: Credentials | undefined, peerId: string): string | undefined {
  if (!credentials || !isPublicKey(credentials.publicKey)) return undefined;
  const { keyType, publicKey, signature } = credentials;
  if (keyType !== 'secp256k1' && keyType !== 'eth_secp256k1') return undefined;
  const key = { type: keyType, key: Buffer.from(publicKey).toString('base64') } as const;
  return verify(key, textOf(peerId), signature) ? accountOf(key) : undefined;
}
