import { RLP } from '@ethereumjs/rlp';
import type { Fact } from '../../events/catalogue.ts';
import type { UncommittedBlock } from '../evm/executor/executor.ts';
import { loggedReceipt } from '../evm/executor/logged-receipt.ts';
import type { Outcome } from '../evm/executor/outcome.ts';

type EvmBlock = NonNullable<Fact<'BlockSealed'>['data']['evm']>;

/** A block of the virtual machine as the log has it; `opening` is what the rules left to it. */
export function evmBlockOf(
  { hash, block }: UncommittedBlock,
  outcomes: readonly Outcome[],
  opening?: EvmBlock['opening'],
): EvmBlock {
  return {
    hash,
    ...(opening && { opening }),
    block: Buffer.from(block).toString('base64'),
    receipts: outcomes.flatMap((outcome) => (outcome.kind === 'executed' ? [loggedReceipt(outcome)] : [])),
  };
}

/** The transactions of a block (RLP), as they were sent. */
export function rawTransactions(block: Uint8Array): Uint8Array[] {
  const [, transactions = []] = listOf(RLP.decode(block));
  return listOf(transactions).map((one) => (one instanceof Uint8Array ? one : RLP.encode(one)));
}

/** RLP of the header of a block. */
export function headerIn(block: Uint8Array): Uint8Array {
  const [header = []] = listOf(RLP.decode(block));
  return RLP.encode(header);
}

/** The root of the state after a block, of the RLP of its header. */
export function stateRootIn(header: Uint8Array): string {
  const root = listOf(RLP.decode(header))[3];
  if (!(root instanceof Uint8Array)) throw new Error('A header has no root of the state');
  return `0x${Buffer.from(root).toString('hex')}`;
}

type Decoded = Uint8Array | Decoded[];

function listOf(value: unknown): Decoded[] {
  if (!Array.isArray(value)) throw new Error('A block of the log is none');
  return value as Decoded[];
}
