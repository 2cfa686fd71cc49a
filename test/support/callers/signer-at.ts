import { createChainClient } from '../../../src/edges/chain/rest/client.ts';
import { loadProfile } from '../../../src/edges/chain/rest/profile.ts';
import { createSigner, type Signer } from '../../../src/edges/chain/sign/signer.ts';

type Options = Parameters<typeof createSigner>[1] & { restPrefix?: string };

/** A signer for the chain whose REST is at an address; its paths are those of the local network unless set. */
export function signerAt(
  url: string,
  { restPrefix = loadProfile('local').restPrefix, ...options }: Options = {},
): Signer {
  return createSigner(createChainClient(url, { restPrefix }), options);
}
