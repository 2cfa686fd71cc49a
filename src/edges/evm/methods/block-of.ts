import type { Static } from 'typebox';
import { storedStates } from '../executor/state/forget-states.ts';
import type { BlockHead } from '../chain/chain-blocks.ts';
import type { blockId } from '../rpc/forms.ts';
import type { MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';

/** Which block is meant. */
export type BlockId = Static<typeof blockId>;

/** The block that is meant; undefined where the chain has none. No number means the latest, which may be passed. */
export async function blockOf(
  { blocks }: MethodContext,
  id: BlockId = 'latest',
  latest?: BlockHead,
): Promise<BlockHead | undefined> {
  if (typeof id === 'object' && 'blockHash' in id && 'blockNumber' in id)
    throw new RpcError(rpcCodes.invalidParameters, 'cannot specify both blockHash and blockNumber');
  const named = typeof id === 'string' ? id : 'blockHash' in id ? id.blockHash : id.blockNumber;
  if (named === 'earliest') return await blocks.byNumber(0n);
  if (!named.startsWith('0x')) return latest ?? (await blocks.head());
  return named.length === 66 ? await blocks.byHash(named) : await blocks.byNumber(BigInt(named));
}

/** The block that is meant. Fails where the chain has none. */
export async function knownBlock(context: MethodContext, id?: BlockId): Promise<BlockHead> {
  const block = await blockOf(context, id);
  if (!block) throw new RpcError(rpcCodes.server, 'header not found');
  return block;
}

/** The block that is meant, whose state is read. Fails where the chain has none, or has forgotten its state. */
export async function stateBlock(context: MethodContext, id?: BlockId): Promise<BlockHead> {
  const block = await knownBlock(context, id);
  await requireState(context, block);
  return block;
}

/** Fails where the state of a block is forgotten. */
export async function requireState({ blocks, forgetsStates }: MethodContext, { number }: BlockHead): Promise<void> {
  if (forgetsStates !== true || number % BigInt(storedStates.each) === 0n) return;
  if (number + BigInt(storedStates.last) > (await blocks.head()).number) return;
  const { last, each } = storedStates;
  throw new RpcError(
    rpcCodes.server,
    `historical state of block ${number} is not available: of the last ${last} blocks and of each ${each}th it is`,
  );
}
