import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { Account, Action } from '../../../commands/ledger/chain.ts';
import { ulumeOf } from '../../../commands/ledger/coins.ts';
import { encodedMetadata } from '../../../commands/ledger/metadata.ts';
import { keyUrls } from '../../chain/sign/keys.ts';
import * as wire from '../../gen/chain/query/v1/query_pb.ts';
import { PubKeySchema } from '../../gen/chain/tx/v1/tx_pb.ts';
import { bytesOf, prefixes } from '../../chain/sign/addresses.ts';
import type { Chain } from '../chain.ts';
import type { ChainView } from '../history.ts';
import { actionStates, actionTypes } from '../rest/actions.ts';
import { fail, integerProblem } from '../rest/answer.ts';
import { type SimulatedOn, simulate } from '../simulate.ts';

/** The context of a query: the chain as of the height that it names, and as it is now. */
export type Queried = SimulatedOn & Readonly<{ view: ChainView }>;

/** Queries by the path of `abci_query`; each reads and returns protobuf, and fails with `RestError`. */
export const queries: Readonly<Record<string, (queried: Queried, request: Uint8Array) => Uint8Array>> = {
  '/cosmos.auth.v1beta1.Query/Account': query(wire.AccountRequestSchema, wire.AccountResponseSchema, accountAnswer),
  '/cosmos.bank.v1beta1.Query/Balance': query(wire.BalanceRequestSchema, wire.BalanceResponseSchema, balanceAnswer),
  '/cosmos.tx.v1beta1.Service/Simulate': query(wire.SimulateRequestSchema, wire.SimulateResponseSchema, simulateAnswer),
  '/lumera.action.v1.Query/Params': query(undefined, wire.ActionParamsResponseSchema, paramsAnswer),
  '/lumera.action.v1.Query/GetActionFee': query(wire.ActionFeeRequestSchema, wire.ActionFeeResponseSchema, feeAnswer),
  '/lumera.action.v1.Query/GetAction': query(wire.ActionRequestSchema, wire.ActionResponseSchema, actionAnswer),
};

/** Encodes an answer as protobuf; `undefined` means a request without fields, whose bytes are ignored. */
function query<Answer extends DescMessage>(
  requested: undefined,
  answered: Answer,
  answer: (queried: Queried) => MessageInitShape<Answer>,
): (queried: Queried, request: Uint8Array) => Uint8Array;
function query<Request extends DescMessage, Answer extends DescMessage>(
  asked: Request,
  answered: Answer,
  answer: (queried: Queried, request: MessageShape<Request>) => MessageInitShape<Answer>,
): (queried: Queried, request: Uint8Array) => Uint8Array;
function query<Answer extends DescMessage>(
  asked: DescMessage | undefined,
  answered: Answer,
  answer: (queried: Queried, request: never) => MessageInitShape<Answer>,
): (queried: Queried, request: Uint8Array) => Uint8Array {
  return (queried, request) => {
    const read = asked && readMessage(asked, request);
    return toBinary(answered, create(answered, answer(queried, read as never)));
  };
}

function readMessage(schema: DescMessage, bytes: Uint8Array): MessageShape<DescMessage> {
  try {
    return fromBinary(schema, bytes);
  } catch {
    return fail(3, 'the request is no protobuf message of the kind');
  }
}

function accountAnswer(
  { chain }: Queried,
  { address }: wire.AccountRequest,
): MessageInitShape<typeof wire.AccountResponseSchema> {
  const account = accountAt(chain, address) ?? fail(5, `account ${address} not found`);
  const value = toBinary(wire.BaseAccountSchema, create(wire.BaseAccountSchema, accountRecord(account)));
  return { account: { typeUrl: '/cosmos.auth.v1beta1.BaseAccount', value } };
}

function accountRecord({
  address,
  publicKey,
  number,
  sequence,
}: Account): MessageInitShape<typeof wire.BaseAccountSchema> {
  const complete = { address, accountNumber: BigInt(number), sequence: BigInt(sequence) };
  if (publicKey === undefined) return complete;
  const value = toBinary(PubKeySchema, create(PubKeySchema, { key: Buffer.from(publicKey.key, 'base64') }));
  return { ...complete, pubKey: { typeUrl: keyUrls[publicKey.type], value } };
}

function balanceAnswer(
  { chain }: Queried,
  { address, denom }: wire.BalanceRequest,
): MessageInitShape<typeof wire.BalanceResponseSchema> {
  const balance = denom === chain.genesis.params.denom ? ulumeOf(accountAt(chain, address)?.balance ?? 0n) : 0n;
  return { balance: { denom, amount: String(balance) } };
}

/** Accounts are as they are now, whatever height the request names. */
function accountAt(chain: Chain, address: string): Account | undefined {
  const decoded = bytesOf(prefixes.account, address);
  if ('problem' in decoded) fail(3, decoded.problem);
  return chain.history.account(address.toLowerCase());
}

function simulateAnswer(
  queried: Queried,
  { txBytes }: wire.SimulateRequest,
): MessageInitShape<typeof wire.SimulateResponseSchema> {
  const { gasUsed, data } = simulate(queried, txBytes);
  return { gasInfo: { gasUsed: BigInt(gasUsed) }, result: { data } };
}

/** Shares are decimals, which protobuf carries as integers of 10^-18. */
const completeShare = String(10n ** 18n);

function paramsAnswer({ view }: Queried): MessageInitShape<typeof wire.ActionParamsResponseSchema> {
  const { params } = view.genesis;
  const coin = (amount: string): { denom: string; amount: string } => ({ denom: params.denom, amount });
  return {
    params: {
      baseActionFee: coin(params.baseActionFee),
      feePerKbyte: coin(params.feePerKbyte),
      maxActionsPerBlock: BigInt(params.maxActionsPerBlock),
      minSuperNodes: 1n,
      maxDdAndFingerprints: BigInt(params.maxDdAndFingerprints),
      maxRaptorQSymbols: BigInt(params.maxRaptorQSymbols),
      expirationDuration: { seconds: BigInt(params.expirationSeconds) },
      minProcessingTime: { seconds: 60n },
      maxProcessingTime: { seconds: 3600n },
      superNodeFeeShare: completeShare,
      foundationFeeShare: '0',
    },
  };
}

function feeAnswer(
  { view }: Queried,
  { dataSize }: wire.ActionFeeRequest,
): MessageInitShape<typeof wire.ActionFeeResponseSchema> {
  const problem = integerProblem(dataSize);
  if (problem) fail(3, `invalid data_size: ${problem}`);
  const { baseActionFee, feePerKbyte } = view.genesis.params;
  return { amount: String(BigInt(baseActionFee) + BigInt(feePerKbyte) * BigInt(dataSize)) };
}

function actionAnswer(
  { view }: Queried,
  { actionId }: wire.ActionRequest,
): MessageInitShape<typeof wire.ActionResponseSchema> {
  const action = view.action(actionId) ?? fail(5, 'failed to get action by ID');
  return { action: actionRecord(action, view.genesis.params.denom) };
}

function actionRecord(action: Action, denom: string): MessageInitShape<typeof wire.ActionSchema> {
  return {
    creator: action.creator,
    actionId: action.id,
    actionType: actionTypes.indexOf(action.type),
    metadata: Buffer.from(encodedMetadata(action.metadata) ?? '', 'base64'),
    price: `${action.price}${denom}`,
    expirationTime: BigInt(action.expirationTime),
    state: actionStates.indexOf(action.state),
    blockHeight: BigInt(action.height),
    superNodes: [...action.superNodes],
    fileSizeKbs: BigInt(action.fileSizeKbs),
  };
}
