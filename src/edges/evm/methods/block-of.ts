import type { Static } from 'typebox';
import type { ChainHead } from '../chain/chain-blocks.ts';
import type { blockId } from '../rpc/forms.ts';
import type { MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';

/** Which block is meant. */
export type BlockId = Static<typeof blockId>;

/** The block that is meant; undefined where the chain has none. No number means the latest. */
export async function blockOf({ blocks }: MethodContext, id: BlockId = 'latest'): Promise<ChainHead | undefined> {
  if (typeof id === 'object' && 'blockHash' in id && 'blockNumber' in id)
    throw new RpcError(rpcCodes.invalidParameters, 'cannot specify both blockHash and blockNumber');
  const named = typeof id === 'string' ? id : 'blockHash' in id ? id.blockHash : id.blockNumber;
  if (named === 'earliest') return await blocks.byNumber(0n);
  if (!named.startsWith('0x')) return await blocks.head();
  return named.length === 66 ? await blocks.byHash(named) : await blocks.byNumber(BigInt(named));
}

/** The block that is meant. Fails where the chain has none. */
export async function knownBlock(context: MethodContext, id?: BlockId): Promise<ChainHead> {
  const block = await blockOf(context, id);
  if (!block) throw new RpcError(rpcCodes.server, 'header not found');
  return block;
}
