import { bytesToHex } from '@ethereumjs/util';
import { LRUCache } from 'lru-cache';
import { receiptForm } from '../../../src/edges/evm/chain/block-contents.ts';
import { readBlock, readHeader } from '../../../src/edges/evm/executor/blocks.ts';
import type { UncommittedBlock } from '../../../src/edges/evm/executor/executor.ts';
import type { Forks } from '../../../src/edges/evm/executor/forks.ts';
import type { ExecutedTransaction } from '../../../src/edges/evm/executor/outcome.ts';
import {
  type BlockOutline,
  type ChainBlocks,
  type ChainBody,
  type BlockHead,
  type ChainLog,
  type ChainReceipt,
  headOf,
  type ReceiptForm,
  type ChainLogSearch,
} from '../../../src/edges/evm/chain/chain-blocks.ts';

type Added = Readonly<{ head: BlockHead; rlp: Uint8Array; executed: readonly ExecutedTransaction[] }>;

const bodiesInMemory = 256;

/** Blocks in memory, added in their order: those of a chain that was imported. */
export class MemoryBlocks implements ChainBlocks {
  readonly #forks: Forks;
  readonly #added: Added[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #transactions = new Map<string, Readonly<{ number: number; index: number }>>();
  readonly #bodies = new LRUCache<bigint, ChainBody>({ max: bodiesInMemory });

  constructor(forks: Forks) {
    this.#forks = forks;
  }

  add({ number: height, hash, header, block: rlp, outcomes }: Omit<UncommittedBlock, 'commit'>): void {
    const number = this.#added.length;
    const executed = outcomes.flatMap((outcome) => (outcome.kind === 'executed' ? [outcome.transaction] : []));
    const sizes = { transactions: executed.length, sizeBytes: rlp.length };
    const head = headOf({ number: height, hash: `0x${hash.slice(2)}`, header, ...sizes }, (bytes) =>
      readHeader(bytes, this.#forks),
    );
    this.#added.push({ head, rlp, executed });
    this.#numbers.set(hash, number);
    for (const [index, one] of executed.entries()) this.#transactions.set(one.hash, { number, index });
  }

  head(): Promise<BlockHead> {
    const added = this.#added.at(-1);
    return added ? Promise.resolve(added.head) : Promise.reject(new Error('The chain has no first block'));
  }

  height(): Promise<bigint> {
    return Promise.resolve(this.#added.at(-1)?.head.number ?? 0n);
  }

  byNumber(number: bigint): Promise<BlockHead | undefined> {
    return Promise.resolve(this.#added[Number(number)]?.head);
  }

  byHash(hash: string): Promise<BlockHead | undefined> {
    return Promise.resolve(this.#added[this.#numbers.get(hash.toLowerCase()) ?? -1]?.head);
  }

  between(from: bigint, to: bigint): Promise<readonly BlockHead[]> {
    return Promise.resolve(this.#added.slice(Number(from), Number(to) + 1).map(({ head }) => head));
  }

  ofTransaction(hash: string): Promise<Readonly<{ head: BlockHead; index: number }> | undefined> {
    const { number = -1, index = 0 } = this.#transactions.get(hash.toLowerCase()) ?? {};
    const head = this.#added[number]?.head;
    return Promise.resolve(head && { head, index });
  }

  async outline(head: BlockHead): Promise<BlockOutline> {
    const { block } = await this.body(head);
    return {
      transactions: this.#at(head).executed,
      uncles: block.uncleHeaders.map((uncle) => bytesToHex(uncle.hash())),
      withdrawals: (block.withdrawals ?? []).map((withdrawal) => withdrawal.toJSON()),
    };
  }

  body(head: BlockHead): Promise<ChainBody> {
    const { rlp } = this.#at(head);
    const body = this.#bodies.get(head.number) ?? { rlp, block: readBlock(rlp, this.#forks) };
    this.#bodies.set(head.number, body);
    return Promise.resolve(body);
  }

  receipts(head: BlockHead, wanted?: number): Promise<readonly ChainReceipt[]> {
    let firstLog = 0;
    const all = this.#at(head).executed.map((one, index) => {
      const receipt = { ...one, index, firstLog };
      firstLog += one.logs.length;
      return receipt;
    });
    return Promise.resolve(wanted === undefined ? all : all.slice(wanted, wanted + 1));
  }

  async receiptForms(head: BlockHead, wanted?: number): Promise<readonly ReceiptForm[]> {
    return (await this.receipts(head, wanted)).map((receipt) => receiptForm(head, receipt));
  }

  logs({ from, to, addresses, topics, most }: ChainLogSearch): ReturnType<ChainBlocks['logs']> {
    const of = new Set(addresses);
    const found: ChainLog[] = [];
    let dataBytes = 0;
    for (const added of this.#added.slice(Number(from), Number(to) + 1))
      for (const log of logsOf(added)) {
        if (of.size > 0 && !of.has(log.address)) continue;
        if (topics.length > log.topics.length) continue;
        if (!topics.every((values, at) => values.length === 0 || values.includes(log.topics[at] ?? ''))) continue;
        found.push(log);
        dataBytes += log.data.length / 2;
        if (most && found.length > most.logs) return Promise.resolve({ exceeds: 'logs' });
        if (most && dataBytes > most.dataBytes) return Promise.resolve({ exceeds: 'dataBytes' });
      }
    return Promise.resolve(found);
  }

  #at({ number }: BlockHead): Added {
    const added = this.#added[Number(number)];
    if (!added) throw new Error(`There is no block ${number}`);
    return added;
  }
}

function* logsOf({ head, executed }: Added): Generator<ChainLog> {
  let logIndex = 0;
  const { number: blockNumber, hash: blockHash } = head;
  for (const [transactionIndex, { hash: transactionHash, logs }] of executed.entries())
    for (const log of logs) {
      const { timestamp } = head.fields;
      yield { ...log, blockNumber, blockHash, timestamp, transactionHash, transactionIndex, logIndex };
      logIndex += 1;
    }
}
