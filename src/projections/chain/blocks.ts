import type { Fact } from '../../events/catalogue.ts';
import type { RowOf } from '../columns.ts';
import { defineProjection, type Derived } from '../projection.ts';
import {
  blockLogs,
  blockTable,
  blockTransactions,
  type ChainTransaction,
  chainTransactions,
  type Receipt,
  transactionTerms,
} from './block-tables.ts';
import { partsOf } from './rlp.ts';
import { receiptTerms, searchTerms } from './search-terms.ts';

type BlockRow = RowOf<typeof blockTable>;
type Hex = `0x${string}`;
type Sealed = Fact<'BlockSealed'>['data'];
type Other = typeof blockTransactions | typeof blockLogs | typeof chainTransactions | typeof transactionTerms;

/** Blocks of the local chain with their transactions of both kinds, receipts, logs, and what a search needs. */
export const blocks = defineProjection({
  name: 'blocks',
  version: 5,
  stream: 'LEDGER',
  table: blockTable,
  derivedTables: [blockTransactions, blockLogs, chainTransactions, transactionTerms],
  on: {
    ChainInitialised: 'ignored',
    StateCheckpointed: 'ignored',
    BlockSealed: (sealed) => (sealed.evm ? [{ key: [sealed.height], next: () => rowOf(sealed, sealed.evm) }] : []),
  },
  derived: (row) => [...transactionsOf(row), ...logsOf(row), ...chainTransactionsOf(row)],
});

function rowOf(sealed: Sealed, evm: Sealed['evm'] = { hash: '0x', block: '', receipts: [] }): BlockRow {
  const block = Buffer.from(evm.block, 'base64');
  const { header, body, timestamp } = partsOf(block);
  return {
    number: sealed.height,
    time: sealed.time,
    chain_hash: sealed.hash ?? '',
    previous_hash: sealed.previousHash ?? null,
    transactions: [...sealed.transactions.map(ofRules), ...evm.receipts.map(ofMachine)],
    hash: hex(evm.hash),
    header: hexOf(header),
    timestamp,
    transaction_count: evm.receipts.length,
    size_bytes: block.length,
    body: hexOf(body),
    opening: evm.opening ?? null,
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

function ofRules({ hash, code, log, events }: Sealed['transactions'][number]): ChainTransaction {
  return { hash: `0x${hash.toLowerCase()}`, code, log, terms: searchTerms(events) };
}

function ofMachine(receipt: EvmReceipt, index: number): ChainTransaction {
  return { hash: receipt.hash, code: 0, log: '', terms: receiptTerms(receipt, index) };
}

type EvmReceipt = NonNullable<Sealed['evm']>['receipts'][number];

function chainTransactionsOf({ number, transactions }: BlockRow): Derived<Other>[] {
  return transactions.flatMap(({ hash, code, log, terms }, position): Derived<Other>[] => [
    { table: 'chain_transactions', values: { number, place: position, hash: hex(hash), code, log } },
    ...terms.map((term): Derived<Other> => ({ table: 'transaction_terms', values: { term, number, place: position } })),
  ]);
}

function transactionsOf({ number, receipts }: BlockRow): Derived<Other>[] {
  let firstLog = 0;
  return receipts.map((receipt, location) => {
    const first_log = firstLog;
    firstLog += receipt.logs.length;
    return {
      table: 'block_transactions',
      values: {
        hash: hex(receipt.hash),
        number,
        place: location,
        type: receipt.type,
        sender: hex(receipt.from),
        recipient: receipt.to === null ? null : hex(receipt.to),
        contract: receipt.contract === null ? null : hex(receipt.contract),
        succeeded: receipt.succeeded,
        gas_used: receipt.gasUsed,
        cumulative_gas_used: receipt.cumulativeGasUsed,
        effective_gas_price: receipt.effectiveGasPrice,
        first_log,
        logs: receipt.logs.length,
      },
    };
  });
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

function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
