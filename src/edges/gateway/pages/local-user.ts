import { AppError } from '../../../kit/errors.ts';
import { type Registrable, registerAction } from '../../chain/files/register-action.ts';
import { signText } from '../../chain/files/signatures.ts';
import { createChainClient } from '../../chain/sign/chain-client.ts';
import { developmentAccounts } from '../../local-network/development-accounts.ts';

/** A file that waits for its bytes: its action, and the signature that uploads it. */
export type Prepared = Readonly<{ actionId: string; creator: string; signature: string }>;

/**
 * Whoever uses the page of the local network: registers and signs as one of the development accounts, whose keys are
 * known to everybody. There is no such user on any other network.
 */
export type LocalUser = Readonly<{
  prepare: (file: Registrable) => Promise<Prepared>;
  /** Over the id of an action: what fetches a private file of this user's. */
  sign: (actionId: string) => string;
}>;

/** The last development account, so that the first ones, which tools use, see nothing of the page. */
export function createLocalUser(chainUrl: string): LocalUser {
  const account = developmentAccounts().findLast(({ key }) => key.type === 'secp256k1');
  if (account === undefined) throw new AppError('INTERNAL', 'The local network has no development account');
  const { key } = account;
  const chain = createChainClient(chainUrl);
  return {
    prepare: async (file) => {
      const { actionId, creator } = await registerAction(chain, key, file);
      return { actionId, creator, signature: signText(key, file.dataHash) };
    },
    sign: (actionId) => signText(key, actionId),
  };
}
