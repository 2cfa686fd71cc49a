import { RLP } from '@ethereumjs/rlp';
import { bytesToBigInt, bytesToHex } from '@ethereumjs/util';
import type { Recorded } from '../../../src/commands/ports.ts';
import type { Cells } from './lives.ts';

/** Blocks, the places of transactions and the logs of them, as the facts of the ledger tell. */
export function expectedBlocks(facts: readonly Recorded[]): Readonly<Record<string, Cells[]>> {
  const sealed = facts.flatMap(({ fact, sequence }) =>
    fact.type === 'BlockSealed' && fact.data.evm
      ? [{ number: fact.data.height, sequence, ...fact.data.evm, receipts: fact.data.evm.receipts }]
      : [],
  );
  return {
    blocks: sealed.map(({ number, sequence, hash, block, receipts }) => ({
      number,
      hash,
      ...headOf(Buffer.from(block, 'base64')),
      transaction_count: receipts.length,
      size_bytes: Buffer.from(block, 'base64').length,
      receipts: receipts.map((receipt) => ({
        hash: receipt.hash,
        type: receipt.type,
        from: receipt.from,
        to: receipt.to ?? null,
        contract: receipt.contract ?? null,
        succeeded: receipt.succeeded,
        gasUsed: receipt.gasUsed,
        cumulativeGasUsed: receipt.cumulativeGasUsed,
        effectiveGasPrice: receipt.effectiveGasPrice,
        logs: receipt.logs,
      })),
      position: sequence,
      removed: false,
    })),
    block_transactions: sealed.flatMap(({ number, receipts }) =>
      receipts.map(({ hash, type, ...receipt }, place) => ({
        hash,
        number,
        place,
        type,
        sender: receipt.from,
        recipient: receipt.to ?? null,
        contract: receipt.contract ?? null,
        succeeded: receipt.succeeded,
        gas_used: receipt.gasUsed,
        cumulative_gas_used: receipt.cumulativeGasUsed,
        effective_gas_price: receipt.effectiveGasPrice,
        first_log: receipts.slice(0, place).flatMap(({ logs }) => logs).length,
        logs: receipt.logs.length,
      })),
    ),
    block_logs: sealed.flatMap(({ number, receipts }) =>
      receipts
        .flatMap(({ hash, logs }, of) => logs.map((log) => ({ log, hash, of })))
        .map(({ log: { address, topics, data }, hash, of }, place) => ({
          number,
          place,
          address,
          topic0: topics[0] ?? null,
          topic1: topics[1] ?? null,
          topic2: topics[2] ?? null,
          topic3: topics[3] ?? null,
          data,
          transaction: hash,
          transaction_place: of,
        })),
    ),
  };
}

function headOf(block: Uint8Array): Cells {
  const [header, ...rest] = RLP.decode(block);
  if (!Array.isArray(header) || !(header[11] instanceof Uint8Array)) throw new Error('A block begins with its header');
  const body = Buffer.concat(rest.map((item) => RLP.encode(item)));
  return {
    header: bytesToHex(RLP.encode(header)),
    body: bytesToHex(body),
    timestamp: Number(bytesToBigInt(header[11])),
  };
}
