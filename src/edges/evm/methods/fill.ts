import { bytesToHex } from '@ethereumjs/util';
import { Type } from 'typebox';
import { quantity as hex, transactionForm } from '../executor/block-forms.ts';
import { type CallRequest, messageOf } from '../executor/call-request.ts';
import { ExecutionError } from '../executor/execution-error.ts';
import * as forms from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { stateBlock } from './block-of.ts';
import { nextFees } from './fees.ts';
import { afterWaiting } from './state.ts';

const zeroAddress = `0x${'00'.repeat(20)}` as const;

/** A request whose fees are as it says, and where it says none as they would do for the next block. */
async function withFees(context: MethodContext, request: CallRequest): Promise<CallRequest> {
  const { gasPrice, maxFeePerGas: most, maxPriorityFeePerGas: own } = request;
  if (gasPrice !== undefined) return request;
  const { baseFee, tip } = await nextFees(context);
  const priority = own === undefined ? tip : BigInt(own);
  const fee = most === undefined ? priority + 2n * baseFee : BigInt(most);
  if (fee < priority && own === undefined) return { ...request, maxPriorityFeePerGas: hex(fee) };
  if (fee < priority) throw new RpcError(rpcCodes.server, `maxFeePerGas (${fee}) < maxPriorityFeePerGas (${priority})`);
  return { ...request, maxFeePerGas: hex(fee), maxPriorityFeePerGas: hex(priority) };
}

/** A transaction that lacks nothing but its signature. Fails as an estimate of its gas does. */
async function filled(context: MethodContext, request: CallRequest): Promise<unknown> {
  if (!request.to && (request.input ?? request.data ?? '0x') === '0x')
    throw new RpcError(rpcCodes.server, 'contract creation without any data provided');
  const { header, fields } = await stateBlock(context);
  const from = request.from ?? zeroAddress;
  const priced = await withFees(context, { ...request, from });
  const { nonce } = await context.reads.read('account', { at: header, address: from });
  const estimated = async (): Promise<bigint> =>
    await context.reads.read('estimate', { at: header, request: priced, gasCap: context.gasCap });
  const defaults = {
    gasLimit: request.gas === undefined ? await estimated() : BigInt(request.gas),
    nonce: afterWaiting(context, from, nonce),
    common: context.forks.at(fields),
  };
  const { tx } = unsigned(priced, defaults);
  const {
    blockHash: _,
    blockNumber: _n,
    blockTimestamp: _t,
    transactionIndex: _i,
    from: _f,
    ...form
  } = transactionForm(tx);
  return { raw: bytesToHex(tx.serialize()), tx: form };
}

function unsigned(...input: Parameters<typeof messageOf>): ReturnType<typeof messageOf> {
  try {
    return messageOf(...input);
  } catch (caught) {
    if (caught instanceof ExecutionError) throw new RpcError(rpcCodes.server, caught.message);
    throw caught;
  }
}

/** The method that completes a transaction for a wallet to sign. */
export const fillMethods: readonly Method[] = [
  method({
    name: 'eth_fillTransaction',
    namespace: 'eth',
    summary: 'A transaction with the nonce, gas and fees that it lacks, to be signed',
    params: [{ name: 'transaction', schema: forms.callRequest }],
    result: Type.Object({ raw: forms.bytes, tx: Type.Unknown() }),
    handler: filled,
  }),
];
