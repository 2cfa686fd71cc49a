import type { KeyType } from '../../commands/ledger/chain.ts';
import { AppError } from '../../kit/errors.ts';
import { registerAction } from '../chain/files/register-action.ts';
import { signText } from '../chain/files/signatures.ts';
import type { ChainClient } from '../chain/rest/client.ts';
import { ensureKeyFile } from '../chain/sign/key-file.ts';
import type { PrivateKey } from '../chain/sign/keys.ts';
import { createSigner } from '../chain/sign/signer.ts';
import type { PageUser } from '../gateway/pages/pages.ts';
import { developmentAccounts } from './development-accounts.ts';
import { fund } from './fund.ts';

/** The extras of the local network's gateway. */
export type OwnGateway = Readonly<{
  /** The key in a file, made where it is not there, of an account that has coins. */
  makeKey: (type: KeyType) => Promise<PrivateKey>;
  pageUser: PageUser;
}>;

/**
 * The local halves of a gateway, whose key lies in a file.
 *
 * The user of its page is the last development account, so that the first ones, which tools use, see nothing of it.
 */
export function createOwnGateway(chain: ChainClient, keyFile: string): OwnGateway {
  const signer = createSigner(chain);
  const user = developmentAccounts().findLast(({ key }) => key.type === 'secp256k1');
  if (user === undefined) throw new AppError('INTERNAL', 'The local network has no development account');
  return {
    makeKey: async (type) => {
      const key = await ensureKeyFile(keyFile, type);
      await fund(signer, key);
      return key;
    },
    pageUser: {
      prepare: async (file) => {
        const { actionId, creator } = await registerAction(signer, user.key, file);
        return { actionId, creator, signature: signText(user.key, file.dataHash) };
      },
      sign: (actionId) => signText(user.key, actionId),
    },
  };
}
