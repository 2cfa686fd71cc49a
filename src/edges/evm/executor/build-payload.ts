import { createBlock, genWithdrawalsTrieRoot } from '@ethereumjs/block';
import { createTxFromRLP, type TypedTransaction } from '@ethereumjs/tx';
import { bytesToHex, createWithdrawal, hexToBytes } from '@ethereumjs/util';
import { buildBlock } from '@ethereumjs/vm';
import { passes } from '../../../kit/errors.ts';
import { nextBaseFee } from './base-fee.ts';
import { quantity } from './block-forms.ts';
import { executionCodes, ExecutionError } from './execution-error.ts';
import type { Hex } from './outcome.ts';
import type { At, StateReader } from './reader.ts';

/** A block to build, in the terms of `testing_buildBlockV1`. */
export type Payload = Readonly<{
  at: At;
  timestamp: Hex;
  prevRandao: Hex;
  suggestedFeeRecipient: Hex;
  withdrawals: readonly Readonly<{ index: Hex; validatorIndex: Hex; address: Hex; amount: Hex }>[];
  parentBeaconBlockRoot: Hex;
  transactions: readonly Hex[];
  /** Transactions that cannot run are skipped instead of failing. */
  lenient: boolean;
  extraData: Hex;
}>;

/** To where the gas limit moves from block to block. */
const wantedGasLimit = 60_000_000n;

/** Builds a block on top of another one and shows it; nothing of it stays. */
export async function buildPayload(reader: StateReader, payload: Payload): Promise<Readonly<Record<string, unknown>>> {
  const parent = reader.blockOf(payload.at);
  const position = { number: parent.header.number + 1n, timestamp: BigInt(payload.timestamp) };
  const common = reader.forks.at(position);
  const { vm } = await reader.machineAt(payload.at, common);
  const withdrawals = payload.withdrawals.map((one) => createWithdrawal(one));
  const builder = await buildBlock(vm, {
    parentBlock: createBlock({ header: parent.header }, { common: reader.forks.at(parent.header) }),
    headerData: {
      ...position,
      gasLimit: nextGasLimit(parent.header.gasLimit),
      baseFeePerGas: nextBaseFee(parent.header, reader.config.fees),
      coinbase: payload.suggestedFeeRecipient,
      mixHash: payload.prevRandao,
      parentBeaconBlockRoot: payload.parentBeaconBlockRoot,
      extraData: payload.extraData,
      withdrawalsRoot: await genWithdrawalsTrieRoot(withdrawals),
    },
    withdrawals: [...payload.withdrawals],
    blockOpts: { putBlockIntoBlockchain: false, common },
  });
  for (const raw of payload.transactions) {
    try {
      const tx: TypedTransaction = createTxFromRLP(hexToBytes(raw), { common });
      await builder.addTransaction(tx);
    } catch (caught) {
      if (passes(caught)) throw caught;
      const reason = caught instanceof Error ? caught.message : String(caught);
      if (!payload.lenient) throw new ExecutionError(executionCodes.failed, reason);
    }
  }
  const value = builder.minerValue;
  const { block, requests = [] } = await builder.build();
  const shown: Record<string, unknown> = { ...block.toExecutionPayload() };
  for (const field of ['executionWitness', 'blockAccessList', 'parentBeaconBlockRoot', 'requestsHash'])
    delete shown[field];
  return {
    executionPayload: shown,
    blockValue: quantity(value),
    blobsBundle: { commitments: [], proofs: [], blobs: [] },
    executionRequests: requests.map(({ bytes }) => bytesToHex(bytes)).filter((request) => request.length > 4),
    shouldOverrideBuilder: false,
  };
}

function nextGasLimit(limit: bigint): bigint {
  const step = limit / 1024n - 1n;
  if (limit > wantedGasLimit) return limit - step < wantedGasLimit ? wantedGasLimit : limit - step;
  return limit + step > wantedGasLimit ? wantedGasLimit : limit + step;
}
