import { AppError, toAppError } from '../kit/errors.ts';
import type { Config } from '../config.ts';
import type { ChainClient } from '../edges/chain/rest/client.ts';
import { createSigner, type Signer } from '../edges/chain/sign/signer.ts';
import { failureOf } from '../kit/failure.ts';
import { repeat } from '../kit/repeat.ts';
import { wait } from '../kit/wait.ts';
import type { NodeOptions } from '../edges/node/start-node.ts';
import { fileBoundsOf } from './local-nodes.ts';

const retryMs = 5_000;
const program = 'annals';
/** A chain that answers later than this is waited for beside a node that serves. */
const firstAnswerMs = 5_000;

/** How an operator's node takes files, undefined where it takes none; `failed` rejects once it must not. */
export type OwnFiles = Readonly<{ cascade: NodeOptions['cascade']; failed: Promise<never> }>;

/** Prepares an operator's node to take files where `NODE_CASCADE` is on; fails where its chain is none of Annals. */
export async function prepareOwnFiles(
  config: Config,
  { chain, signal }: Readonly<{ chain: ChainClient; signal: AbortSignal }>,
): Promise<OwnFiles> {
  if (!config.nodeCascade) return { cascade: undefined, failed: failureOf([], signal) };
  const checking = requireAnnalsChain(createSigner(chain), signal);
  const failed = failureOf([checking], signal);
  await Promise.race([checking, wait(firstAnswerMs, signal)]);
  return { cascade: { ...fileBoundsOf(config), storageFolder: config.storageDir }, failed };
}

/**
 * Fails with `INVALID_ARGUMENT` once the chain shows that it is none of Annals; resolves once it shows that it is.
 *
 * The other SuperNodes of such a chain store other pieces, so only this node could find a file that it accepts. A chain
 * that does not answer is queried until it does: its Register waits for the chain as well.
 */
export async function requireAnnalsChain(chain: Pick<Signer, 'program'>, signal: AbortSignal): Promise<void> {
  const check = async (): Promise<'done'> => {
    const name = await chain.program();
    if (name !== program)
      throw new AppError(
        'INVALID_ARGUMENT',
        `NODE_CASCADE=on is for chains of Annals alone, and CHAIN_API_BASE leads to one of ${name || 'another program'}: its other SuperNodes keep other pieces and could not find the files of this one. Set NODE_CASCADE=off`,
      );
    return 'done';
  };
  const isPassing = (caught: unknown): boolean => toAppError(caught).code === 'UNAVAILABLE';
  await repeat('the chain does not answer', check, { everyMs: retryMs, isPassing, signal });
}
