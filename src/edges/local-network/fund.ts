import type { Signer } from '../chain/sign/signer.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../chain/sign/keys.ts';
import { developmentAccounts } from './development-accounts.ts';

/** Both in ulume: an account with less than the first receives the second. */
const enough = 1_000_000n;
const gift = '1000000000';

/**
 * Sends coins of the first development account to the account of a key on the local network, where it is new or nearly
 * empty.
 */
export async function fund(chain: Signer, key: PrivateKey): Promise<void> {
  const account = accountOf(publicKeyOf(key));
  const known = await chain.account(account);
  if (known !== undefined && known.balance >= enough) return;
  const [giver] = developmentAccounts();
  if (giver === undefined || giver.account === account) return;
  await chain.send(giver.key, [
    {
      '@type': '/cosmos.bank.v1beta1.MsgSend',
      from_address: giver.account,
      to_address: account,
      amount: [{ denom: 'ulume', amount: gift }],
    },
  ]);
}
