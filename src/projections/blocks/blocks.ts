import type { Fact } from '../../events/catalogue.ts';
import type { RowOf } from '../columns.ts';
import { defineProjection, type Derived } from '../projection.ts';
import { blockLogs, blockTable, blockTransactions, type Receipt } from './block-tables.ts';

type BlockRow = RowOf<typeof blockTable>;
type Hex = `0x${string}`;
type Other = typeof blockTransactions | typeof blockLogs;

/** Blocks of the virtual machine with their transactions, receipts and logs. */
export const blocks = defineProjection({
  name: 'blocks',
  version: 1,
  stream: 'LEDGER',
  table: blockTable,
  derivedTables: [blockTransactions, blockLogs],
  on: {
    ChainInitialised: 'ignored',
    BlockSealed: ({ height, evm }) => (evm ? [{ key: [height], next: () => rowOf(height, evm) }] : []),
  },
  derived: (row) => [...transactionsOf(row), ...logsOf(row)],
});

function rowOf(number: number, evm: NonNullable<Fact<'BlockSealed'>['data']['evm']>): BlockRow {
  return {
    number,
    hash: hex(evm.hash),
    block: hex(`0x${hexOfBase64(evm.block)}`),
    receipts: evm.receipts.map((receipt): Receipt => ({
      hash: receipt.hash,
      type: receipt.type,
      from: receipt.from,
      to: receipt.to ?? null,
      contract: receipt.contract ?? null,
      succeeded: receipt.succeeded,
      gasUsed: receipt.gasUsed,
      cumulativeGasUsed: receipt.cumulativeGasUsed,
      effectiveGasPrice: receipt.effectiveGasPrice,
      logs: receipt.logs.map(({ address, topics, data }) => ({ address, topics, data })),
    })),
  };
}

function transactionsOf({ number, receipts }: BlockRow): Derived<Other>[] {
  return receipts.map(({ hash }, place) => ({
    table: 'block_transactions',
    values: { hash: hex(hash), number, place },
  }));
}

function logsOf({ number, receipts }: BlockRow): Derived<Other>[] {
  const all = receipts.flatMap(({ hash, logs }, of) => logs.map((log) => ({ log, hash, of })));
  return all.map(({ log: { address, topics, data }, hash, of }, place) => {
    const [topic0 = null, topic1 = null, topic2 = null, topic3 = null] = topics.map(hex);
    const values = { number, place, address: hex(address), topic0, topic1, topic2, topic3, data: hex(data) };
    return { table: 'block_logs', values: { ...values, transaction: hex(hash), transaction_place: of } };
  });
}

/** The facts write bytes as the columns take them. */
function hex(text: string): Hex {
  return text as Hex;
}

function hexOfBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('hex');
}
