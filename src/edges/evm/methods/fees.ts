import { createBlockHeader } from '@ethereumjs/block';
import { Type } from 'typebox';
import type { BlockHead, TransactionOutline } from '../chain/chain-blocks.ts';
import { nextBaseFee } from '../executor/base-fee.ts';
import { quantity as hex } from '../executor/block-forms.ts';
import { blockId, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { knownBlock } from './block-of.ts';

/** The tip where no transaction bids. */
const leastTip = 1n;
/** The number of blocks whose bids are read, the percentile of them that is suggested, and its bound: 500 gwei. */
const bids = { blocks: 20n, percentile: 60, most: 500_000_000_000n } as const;
/** No transaction bids in the genesis block, which would have to be read from the state. */
const firstWithBids = 1n;
const mostBlocks = 100;
const mostPercentiles = 100;

const baseFeeAfter = ({ config }: MethodContext, { fields }: BlockHead): bigint =>
  fields.baseFeePerGas === undefined ? 0n : nextBaseFee(fields, config.fees);

/** Price of blobs in the block after one. */
function blobFeeAfter({ forks }: MethodContext, { fields: header }: BlockHead): bigint {
  if (header.excessBlobGas === undefined) return 0n;
  const common = forks.at(header);
  const next = { number: header.number, timestamp: header.timestamp, blobGasUsed: 0n };
  const excessBlobGas = header.calcNextExcessBlobGas(common);
  return createBlockHeader({ ...next, excessBlobGas }, { common }).getBlobGasPrice();
}

/** A tip of what others bid of late: in each of the last blocks with transactions its three lowest bids count. */
async function suggestedTip({ blocks }: MethodContext, newest: BlockHead): Promise<bigint> {
  const { number } = newest;
  const from = number < bids.blocks ? firstWithBids : number - bids.blocks + 1n;
  const tips: bigint[] = [];
  for (const head of await blocks.between(from, number)) {
    const { baseFeePerGas: fee = 0n } = head.fields;
    const { transactions } = head.transactions === 0 ? { transactions: [] } : await blocks.outline(head);
    const own = transactions.map(({ effectiveGasPrice }) => effectiveGasPrice - fee).filter((tip) => tip >= leastTip);
    tips.push(...own.toSorted(ascending).slice(0, 3));
  }
  const tip = tips.toSorted(ascending)[Math.floor(((tips.length - 1) * bids.percentile) / 100)] ?? leastTip;
  return tip < bids.most ? tip : bids.most;
}

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

async function feeHistory(
  context: MethodContext,
  count: string | number,
  id: Parameters<typeof knownBlock>[1],
  percentiles: readonly number[] = [],
): Promise<unknown> {
  if (percentiles.some((one, at) => one < 0 || one > 100 || one < (percentiles[at - 1] ?? 0)))
    throw new RpcError(rpcCodes.invalidParameters, 'invalid reward percentile');
  const newest = await knownBlock(context, id);
  const wanted = Math.min(Number(count), mostBlocks, Number(newest.number) + 1);
  const heads = await context.blocks.between(newest.number - BigInt(wanted) + 1n, newest.number);
  const headers = heads.map(({ fields }) => fields);
  return {
    oldestBlock: hex(heads[0]?.number ?? newest.number),
    baseFeePerGas: [...headers.map((header) => header.baseFeePerGas ?? 0n), baseFeeAfter(context, newest)].map(hex),
    gasUsedRatio: headers.map(({ gasUsed, gasLimit }) => Number(gasUsed) / Number(gasLimit)),
    baseFeePerBlobGas: [
      ...headers.map((header) => (header.excessBlobGas === undefined ? 0n : header.getBlobGasPrice())),
      blobFeeAfter(context, newest),
    ].map(hex),
    blobGasUsedRatio: headers.map(({ blobGasUsed = 0n, common }) =>
      blobGasUsed === 0n ? 0 : Number(blobGasUsed) / Number(common.getBlobGasSchedule().maxBlobGasPerBlock),
    ),
    ...(percentiles.length > 0 && { reward: await rewardsOf(context, heads, percentiles) }),
  };
}

async function rewardsOf({ blocks }: MethodContext, heads: readonly BlockHead[], percentiles: readonly number[]) {
  const all: (readonly string[])[] = [];
  for (const head of heads) all.push(rewards(head, (await blocks.outline(head)).transactions, percentiles));
  return all;
}

/** Tips at percentiles of the gas that a block used. */
function rewards(
  { fields }: BlockHead,
  transactions: readonly TransactionOutline[],
  percentiles: readonly number[],
): readonly string[] {
  const { baseFeePerGas: fee = 0n, gasUsed } = fields;
  const tips = transactions
    .map(({ effectiveGasPrice, gasUsed: gas }) => ({ tip: effectiveGasPrice - fee, gas }))
    .toSorted((a, b) => ascending(a.tip, b.tip));
  return percentiles.map((percentile) => {
    const threshold = (gasUsed * BigInt(Math.round(percentile * 1000))) / 100_000n;
    let sum = 0n;
    const reached = tips.find(({ gas }) => (sum += gas) >= threshold);
    return hex(reached?.tip ?? 0n);
  });
}

/** Base fee of the next block, and the tip that is suggested. */
export async function nextFees(context: MethodContext): Promise<Readonly<{ baseFee: bigint; tip: bigint }>> {
  const head = await context.blocks.head();
  return { baseFee: baseFeeAfter(context, head), tip: await suggestedTip(context, head) };
}

/** Methods that show what gas costs. */
export const feeMethods: readonly Method[] = [
  method({
    name: 'eth_gasPrice',
    namespace: 'eth',
    summary: 'What a unit of gas costs in the next block, with a tip',
    params: [],
    result: quantity,
    handler: async (context) => {
      const { baseFee, tip } = await nextFees(context);
      return hex(baseFee + tip);
    },
  }),
  method({
    name: 'eth_maxPriorityFeePerGas',
    namespace: 'eth',
    summary: 'A tip of what others bid in the last 20 blocks',
    params: [],
    result: quantity,
    handler: async (context) => hex(await suggestedTip(context, await context.blocks.head())),
  }),
  method({
    name: 'eth_baseFee',
    namespace: 'eth',
    summary: 'Base fee of the next block',
    params: [],
    result: quantity,
    handler: async (context) => hex(baseFeeAfter(context, await context.blocks.head())),
  }),
  method({
    name: 'eth_blobBaseFee',
    namespace: 'eth',
    summary: 'Price of blobs in the next block',
    params: [],
    result: quantity,
    handler: async (context) => hex(blobFeeAfter(context, await context.blocks.head())),
  }),
  method({
    name: 'eth_feeHistory',
    namespace: 'eth',
    summary: 'Fees of past blocks, of 100 at most: fewer are answered where more are requested',
    params: [
      { name: 'block count', schema: Type.Union([quantity, Type.Integer({ minimum: 0 })]) },
      { name: 'newest block', schema: blockId },
      {
        name: 'reward percentiles',
        schema: Type.Array(Type.Number(), { maxItems: mostPercentiles }),
        optional: true,
      },
    ],
    result: Type.Object({
      oldestBlock: quantity,
      baseFeePerGas: Type.Array(quantity),
      gasUsedRatio: Type.Array(Type.Number()),
      reward: Type.Optional(Type.Array(Type.Array(quantity))),
    }),
    handler: feeHistory,
  }),
];
