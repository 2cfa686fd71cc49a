import { Type } from 'typebox';
import type { ChainBlock } from '../chain/chain-blocks.ts';
import { quantity as hex } from '../executor/block-forms.ts';
import type { ExecutedLog, ExecutedTransaction } from '../executor/outcome.ts';
import { address, blockId, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../rpc/rpc-error.ts';
import { blockOf } from './block-of.ts';

const receipt = Type.Object({ transactionHash: hash, blockHash: hash, cumulativeGasUsed: quantity });
/** Blocks that one request for logs may cover, and logs that it may give. */
const most = { blocks: 10_000n, logs: 10_000 };

type LogForm = Readonly<Record<string, unknown>> & ExecutedLog;

/** All logs of a block, by transaction. */
function logsOf({ block, hash: blockHash, executed }: ChainBlock): readonly (readonly LogForm[])[] {
  let logIndex = 0;
  const { number, timestamp } = block.header;
  return executed.map(({ logs, hash: transactionHash }, index) =>
    logs.map((log) => ({
      ...log,
      blockNumber: hex(number),
      transactionHash,
      transactionIndex: hex(index),
      blockHash,
      blockTimestamp: hex(timestamp),
      logIndex: hex(logIndex++),
      removed: false,
    })),
  );
}

/** A receipt as `eth_getTransactionReceipt` shows it. */
function receiptForm(of: ChainBlock, index: number, logs: readonly LogForm[]): unknown {
  const executed = of.executed[index];
  if (!executed) return null;
  const { succeeded, stateRoot, blobGas, to, contractAddress } = executed;
  return {
    blockHash: of.hash,
    blockNumber: hex(of.number),
    contractAddress: contractAddress ?? null,
    cumulativeGasUsed: hex(executed.cumulativeGasUsed),
    effectiveGasPrice: hex(executed.effectiveGasPrice),
    from: executed.from,
    gasUsed: hex(executed.gasUsed),
    logs,
    logsBloom: executed.logsBloom,
    to: to ?? null,
    transactionHash: executed.hash,
    transactionIndex: hex(index),
    type: hex(executed.type),
    ...(stateRoot === undefined ? { status: succeeded === true ? '0x1' : '0x0' } : { root: stateRoot }),
    ...(blobGas && { blobGasPrice: hex(blobGas.price), blobGasUsed: hex(blobGas.used) }),
  };
}

function receiptsOf(of: ChainBlock): unknown[] {
  const logs = logsOf(of);
  return of.executed.map((_: ExecutedTransaction, index) => receiptForm(of, index, logs[index] ?? []));
}

const topic = Type.Union([Type.Null(), hash, Type.Array(hash)]);
const filter = Type.Object({
  fromBlock: Type.Optional(Type.Union([blockId, Type.Null()])),
  toBlock: Type.Optional(Type.Union([blockId, Type.Null()])),
  blockHash: Type.Optional(hash),
  address: Type.Optional(Type.Union([address, Type.Array(address), Type.Null()])),
  topics: Type.Optional(Type.Union([Type.Array(topic, { maxItems: 4 }), Type.Null()])),
});
type Filter = Type.Static<typeof filter>;

async function range(context: MethodContext, { fromBlock, toBlock }: Filter): Promise<readonly [bigint, bigint]> {
  const { number: head } = await context.blocks.head();
  const numberOf = async (id: Filter['fromBlock']): Promise<bigint> => {
    if (id === undefined || id === null) return head;
    if (typeof id === 'string' && id.startsWith('0x') && id.length < 66) return BigInt(id);
    return (await blockOf(context, id))?.number ?? head + 1n;
  };
  const [from, to] = [await numberOf(fromBlock), await numberOf(toBlock)];
  if (from > to) throw new RpcError(rpcCodes.invalidParameters, 'invalid block range params');
  if (to > head) throw new RpcError(rpcCodes.invalidParameters, 'block range extends beyond current head block');
  if (to - from >= most.blocks)
    throw new RpcError(rpcCodes.invalidParameters, `block range of ${to - from + 1n} exceeds ${most.blocks}`);
  return [from, to];
}

async function blocksOf(context: MethodContext, given: Filter): Promise<readonly bigint[]> {
  if (given.blockHash === undefined) {
    const [from, to] = await range(context, given);
    return Array.from({ length: Number(to - from) + 1 }, (_, index) => from + BigInt(index));
  }
  if (given.fromBlock !== undefined || given.toBlock !== undefined)
    throw new RpcError(rpcCodes.invalidParameters, 'cannot specify both BlockHash and FromBlock/ToBlock');
  const block = await blockOf(context, given.blockHash);
  if (!block) throw new RpcError(rpcCodes.server, 'unknown block');
  return [block.number];
}

async function findLogs(context: MethodContext, given: Filter): Promise<unknown> {
  const addresses = given.address ? [given.address].flat().map((one) => one.toLowerCase()) : undefined;
  const topics = (given.topics ?? []).map((one) =>
    one === null ? [] : [one].flat().map((each) => each.toLowerCase()),
  );
  const found: LogForm[] = [];
  for (const number of await blocksOf(context, given)) {
    const block = await context.blocks.byNumber(number);
    for (const log of block ? logsOf(block).flat() : []) {
      if (addresses && !addresses.includes(log.address)) continue;
      if (topics.length > log.topics.length) continue;
      if (topics.every((one, at) => one.length === 0 || one.includes(log.topics[at] ?? ''))) found.push(log);
    }
    if (found.length > most.logs)
      throw new RpcError(rpcCodes.invalidParameters, `query returned more than ${most.logs} results`);
  }
  return found;
}

/** Methods that show what came of transactions. */
export const receiptMethods: readonly Method[] = [
  method({
    name: 'eth_getTransactionReceipt',
    namespace: 'eth',
    summary: 'What came of a transaction',
    params: [{ name: 'transaction hash', schema: hash }],
    result: Type.Union([Type.Null(), receipt]),
    handler: async ({ blocks }, wanted) => {
      const found = await blocks.ofTransaction(wanted);
      return found && receiptForm(found.block, found.index, logsOf(found.block)[found.index] ?? []);
    },
  }),
  method({
    name: 'eth_getBlockReceipts',
    namespace: 'eth',
    summary: 'What came of all transactions of a block',
    params: [{ name: 'block', schema: blockId }],
    result: Type.Union([Type.Null(), Type.Array(receipt)]),
    handler: async (context, id) => {
      const found = await blockOf(context, id);
      return found && receiptsOf(found);
    },
  }),
  method({
    name: 'eth_getLogs',
    namespace: 'eth',
    summary: 'Logs by block, address and topics',
    params: [{ name: 'filter', schema: filter }],
    result: Type.Array(Type.Object({ address, topics: Type.Array(hash) })),
    handler: findLogs,
  }),
];
