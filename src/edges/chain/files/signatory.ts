import type { KeyType, PublicKey } from '../../../commands/ledger/chain.ts';
import { addressOf } from '../sign/addresses.ts';
import { accountBytes, isPublicKey, keyUrls } from '../sign/keys.ts';
import type { ChainSession } from '../rest/client.ts';
import { asObject } from '../rest/values.ts';
import type { Signatory } from './signatures.ts';

/** The creator of a registration, and the key of its signatures. */
export type Registrant = Readonly<{
  creator: string;
  /** The key of 33 bytes, in base64, that the registration names where an interchain account made it. */
  appKey: string | undefined;
}>;

/**
 * Whose signatures are those of a creator: the key of its account, which may lie inside a vesting type; of an
 * interchain account, which has none, the key that its registration names, and its owner on the other chain as signer.
 *
 * Undefined for an account that has never signed, for one of many signers, of a module, and where the key that the
 * chain gives is not the one of the address.
 */
export async function signatoryOf(
  session: ChainSession,
  { creator, appKey }: Registrant,
  addressPrefix: string,
): Promise<Signatory | undefined> {
  const answer = await session.find(`/cosmos/auth/v1beta1/accounts/${creator}`);
  const account = asObject(asObject(answer?.body)?.['account']);
  if (!account) return undefined;
  const owner = account['account_owner'];
  if (owner !== undefined) {
    const key = publicKeyIn({ '@type': keyUrls.secp256k1, key: appKey });
    return key && typeof owner === 'string' && ownerForm.test(owner) ? { ...key, signer: owner } : undefined;
  }
  const key = publicKeyIn(asObject(baseOf(account)['pub_key']) ?? {});
  const isItsOwn = key !== undefined && addressOf(addressPrefix, accountBytes(key)) === creator;
  return isItsOwn ? { ...key, signer: creator } : undefined;
}

/** Addresses of other chains, which need not be in Bech32; nothing that would have to be escaped in a document. */
const ownerForm = /^[\w.:/-]{1,200}$/;

type Json = Readonly<Record<string, unknown>>;

/** The account within accounts of other types: vesting ones hold it two levels down. */
function baseOf(account: Json): Json {
  const inner = asObject(account['base_vesting_account']) ?? asObject(account['base_account']);
  return inner ? baseOf(inner) : account;
}

function publicKeyIn({ '@type': url, key }: Json): PublicKey | undefined {
  const type = (Object.keys(keyUrls) as KeyType[]).find((name) => keyUrls[name] === url);
  if (!type || typeof key !== 'string' || !isPublicKey(Buffer.from(key, 'base64'))) return undefined;
  return { type, key };
}
