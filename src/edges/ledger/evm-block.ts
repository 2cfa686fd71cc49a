import type { Fact } from '../../events/catalogue.ts';
import type { Sealed } from '../evm/executor/executor.ts';
import type { Outcome } from '../evm/executor/outcome.ts';

type EvmBlock = NonNullable<Fact<'BlockSealed'>['data']['evm']>;

/** A block of the virtual machine as the log has it. */
export function evmBlockOf({ hash, block }: Sealed, outcomes: readonly Outcome[]): EvmBlock {
  return {
    hash,
    block: Buffer.from(block).toString('base64'),
    receipts: outcomes.flatMap((outcome) => (outcome.kind === 'executed' ? [receiptOf(outcome)] : [])),
  };
}

function receiptOf({ transaction, touched }: Extract<Outcome, { kind: 'executed' }>): EvmBlock['receipts'][number] {
  const { hash, type, from, to, contractAddress, succeeded, logs, error } = transaction;
  return {
    hash,
    type,
    from,
    ...(to === undefined ? {} : { to }),
    ...(contractAddress === undefined ? {} : { contract: contractAddress }),
    succeeded: succeeded ?? true,
    gasUsed: Number(transaction.gasUsed),
    cumulativeGasUsed: Number(transaction.cumulativeGasUsed),
    effectiveGasPrice: String(transaction.effectiveGasPrice),
    logs: logs.map(({ address, topics, data }) => ({ address, topics: [...topics], data })),
    ...(error === undefined ? {} : { error }),
    touched: touched.map(({ address, balance, nonce }) => ({
      address,
      balance: String(balance),
      nonce: Number(nonce),
    })),
  };
}
