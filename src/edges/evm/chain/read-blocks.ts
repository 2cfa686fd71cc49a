import { createBlock } from '@ethereumjs/block';
import { bytesToHex } from '@ethereumjs/util';
import { Bloom, encodeReceipt, type TxReceipt } from '@ethereumjs/vm';
import type { Receipt } from '../../../projections/blocks/block-tables.ts';
import {
  BlockByHash,
  BlockByNumber,
  BlockOfTransaction,
  type BlockRow,
  BlocksWithLogs,
  LatestBlock,
} from '../../../projections/blocks/queries.ts';
import type { Query } from '../../../projections/query.ts';
import { ask } from '../../bus.ts';
import type { Reader } from '../../models/read/reading.ts';
import { readBlock, readHeader } from '../executor/blocks.ts';
import type { Forks } from '../executor/forks.ts';
import type { ExecutedTransaction, Hex } from '../executor/outcome.ts';
import type { StateReads } from '../workers/state-reads.ts';
import type { ChainBlock, ChainBlocks } from './chain-blocks.ts';

/** Where blocks are read from: the read model, and the state for the first one, which is in no fact. */
export type BlockSources = Readonly<{
  reader: Pick<Reader, 'read'>;
  reads: Pick<StateReads, 'read'>;
  forks: Forks;
}>;

/** The blocks of the log, as its read model has them. */
export function readModelBlocks({ reader, reads, forks }: BlockSources): ChainBlocks {
  const query = <Answer>(one: Query<unknown, Answer>): Promise<Answer> => reader.read((reading) => ask(reading, one));
  const first = async (): Promise<ChainBlock> => firstBlock(await reads.read('storedHeader', { number: 0n }), forks);
  const shown = (row: BlockRow | undefined): ChainBlock | undefined => row && blockOfRow(row, forks);
  return {
    head: async () => shown(await query(new LatestBlock({}))) ?? (await first()),
    byNumber: async (number) => {
      if (number === 0n) return await first();
      if (number > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
      return shown(await query(new BlockByNumber({ number: Number(number) })));
    },
    byHash: async (hash) => {
      const found = shown(await query(new BlockByHash({ hash: hash.toLowerCase() })));
      if (found) return found;
      const beginning = await first();
      return beginning.hash === hash.toLowerCase() ? beginning : undefined;
    },
    ofTransaction: async (hash) => {
      const found = await query(new BlockOfTransaction({ hash: hash.toLowerCase() }));
      return found && { block: blockOfRow(found.block, forks), index: found.place };
    },
    withLogs: async ({ from, to, ...search }) => {
      const found = await query(new BlocksWithLogs({ ...search, from: Number(from), to: Number(to) }));
      return found.map(BigInt);
    },
  };
}

function blockOfRow({ number, hash, block: hex, receipts }: BlockRow, forks: Forks): ChainBlock {
  const rlp = new Uint8Array(Buffer.from(hex.slice(2), 'hex'));
  const block = readBlock(rlp, forks);
  const header = block.header.serialize();
  return { number: BigInt(number), hash, block, header, rlp, executed: receipts.map(executedOf) };
}

function firstBlock(header: Uint8Array, forks: Forks): ChainBlock {
  const read = readHeader(header, forks);
  const block = createBlock({ header: read, withdrawals: [] }, { common: forks.at(read) });
  return { number: 0n, hash: bytesToHex(block.hash()), block, header, rlp: block.serialize(), executed: [] };
}

/** All else of a transaction's outcome follows from its receipt. */
function executedOf(receipt: Receipt): ExecutedTransaction {
  const { hash, type, from, to, contract, succeeded, logs } = receipt;
  const bitvector = bloomOf(receipt);
  const cumulativeBlockGasUsed = BigInt(receipt.cumulativeGasUsed);
  const whole: TxReceipt = {
    status: succeeded ? 1 : 0,
    cumulativeBlockGasUsed,
    bitvector,
    logs: logs.map(({ address, topics, data }) => [bytes(address), topics.map(bytes), bytes(data)]),
  };
  return {
    hash: hash as Hex,
    type,
    from: from as Hex,
    to: (to ?? undefined) as Hex | undefined,
    contractAddress: (contract ?? undefined) as Hex | undefined,
    succeeded,
    stateRoot: undefined,
    gasUsed: BigInt(receipt.gasUsed),
    cumulativeGasUsed: cumulativeBlockGasUsed,
    effectiveGasPrice: BigInt(receipt.effectiveGasPrice),
    blobGas: undefined,
    logs: logs.map(({ address, topics, data }) => ({
      address: address as Hex,
      topics: topics.map((topic) => topic as Hex),
      data: data as Hex,
    })),
    logsBloom: bytesToHex(bitvector),
    receipt: encodeReceipt(whole, type as 0 | 1 | 2 | 3 | 4),
    returned: new Uint8Array(),
    error: succeeded ? undefined : 'execution failed',
  };
}

function bloomOf({ logs }: Receipt): Uint8Array {
  const bloom = new Bloom();
  for (const { address, topics } of logs) for (const part of [address, ...topics]) bloom.add(bytes(part));
  return bloom.bitvector;
}

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex.slice(2), 'hex'));
}
