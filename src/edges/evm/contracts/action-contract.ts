import { approveAction, finalizeAction, requestAction } from '../../../commands/ledger/actions.ts';
import type { Action } from '../../../commands/ledger/chain.ts';
import { metadataText } from '../../../commands/ledger/metadata.ts';
import { evmAddress } from '../../chain/sign/addresses.ts';
import type { ActionKey } from './action-index.ts';
import { type ContractCall, type Methods, numberOf, type ContractPage, pageSize, refuse } from './contract.ts';

const types = ['ACTION_TYPE_SENSE', 'ACTION_TYPE_CASCADE'];
const states = 'PENDING PROCESSING DONE APPROVED REJECTED FAILED EXPIRED'
  .split(' ')
  .map((word) => `ACTION_STATE_${word}`);

type Requested = Readonly<{ dataHash: string; price: bigint; expirationTime: bigint; fileSizeKbs: bigint }>;
type Cascade = Requested & Readonly<{ fileName: string; rqIdsIc: bigint; signatures: string }>;

/** The contract of actions: the rules that the chain's own messages call, in the name of the caller. */
export const actionMethods = {
  requestCascade: async (call: ContractCall, input: Cascade) =>
    await request(call, input, 'CASCADE', {
      data_hash: input.dataHash,
      file_name: input.fileName,
      rq_ids_ic: Number(input.rqIdsIc),
      signatures: input.signatures,
    }),
  requestSense: async (call: ContractCall, options: Requested & Readonly<{ ddAndFingerprintsIc: bigint }>) =>
    await request(call, options, 'SENSE', {
      data_hash: options.dataHash,
      dd_and_fingerprints_ic: Number(options.ddAndFingerprintsIc),
    }),
  finalizeCascade: async (call: ContractCall, values: Readonly<{ actionId: string; rqIdsIds: readonly string[] }>) =>
    await finalize(call, values.actionId, 'CASCADE', { rq_ids_ids: values.rqIdsIds }),
  finalizeSense: async (
    call: ContractCall,
    given: Readonly<{ actionId: string; ddAndFingerprintsIds: readonly string[] }>,
  ) => await finalize(call, given.actionId, 'SENSE', { dd_and_fingerprints_ids: given.ddAndFingerprintsIds }),
  approveAction: async ({ chain, caller, callerHex, emit }: ContractCall, actionId: string) => {
    const message = { '@type': '/lumera.action.v1.MsgApproveAction', creator: caller, actionId } as const;
    await chain.carryOut((draft) => approveAction(draft, message));
    emit('ActionApproved', { actionId, creator: callerHex });
    return true;
  },
  getAction: async ({ chain }: ContractCall, actionId: string) =>
    await chain.run(({ action }) => infoOf(action(actionId) ?? refuse(`action ${actionId} not found`))),
  getActionFee: async ({ chain }: ContractCall, dataSizeKbs: bigint) => {
    const { baseActionFee, feePerKbyte } = chain.genesis.params;
    const perKb = BigInt(feePerKbyte);
    const baseFee = BigInt(baseActionFee);
    return { baseFee, perKbFee: perKb, totalFee: baseFee + perKb * dataSizeKbs };
  },
  getActionsByCreator: async (call: ContractCall, { creator, ...page }: ContractPage & Readonly<{ creator: string }>) =>
    await list(call, page, `creator/${creator.toLowerCase()}`),
  getActionsByState: async (call: ContractCall, { state, ...page }: ContractPage & Readonly<{ state: bigint }>) =>
    await list(call, page, `state/${states[Number(state) - 1] ?? ''}`),
  getActionsBySuperNode: async (
    call: ContractCall,
    { superNode, ...page }: ContractPage & Readonly<{ superNode: string }>,
  ) => await list(call, page, `node/${superNode.toLowerCase()}`),
  getParams: async ({ chain }: ContractCall) => {
    const { baseActionFee, feePerKbyte, maxActionsPerBlock, expirationSeconds } = chain.genesis.params;
    return {
      baseActionFee: BigInt(baseActionFee),
      feePerKbyte: BigInt(feePerKbyte),
      maxActionsPerBlock: BigInt(maxActionsPerBlock),
      minSuperNodes: 1n,
      expirationDuration: BigInt(expirationSeconds),
      superNodeFeeShare: '1.000000000000000000',
      foundationFeeShare: '0.000000000000000000',
      svcChallengeCount: 8n,
      svcMinChunksForChallenge: 4n,
    };
  },
} satisfies Methods;

type Type = 'CASCADE' | 'SENSE';

async function request(
  { chain, block, caller, callerHex, emit }: ContractCall,
  given: Requested,
  type: Type,
  metadata: object,
) {
  const { price, expirationTime, fileSizeKbs } = given;
  const draft = await chain.carryOut((to) =>
    requestAction(
      to,
      {
        '@type': '/lumera.action.v1.MsgRequestAction',
        creator: caller,
        actionType: type,
        metadata: JSON.stringify(metadata),
        price: `${price}${chain.genesis.params.denom}`,
        expirationTime: String(expirationTime),
        fileSizeKbs: String(fileSizeKbs),
        app_pubkey: null,
      },
      block,
    ),
  );
  const actionId = String(draft.tallies.actions);
  emit('ActionRequested', { actionId, creator: callerHex, actionType: numberOf(types, `ACTION_TYPE_${type}`), price });
  return actionId;
}

/**
 * Returns true, with an event, only when the action is finalized: the chain accepts an unfit finalization and changes
 * nothing.
 */
async function finalize(
  { chain, block, caller, callerHex, emit }: ContractCall,
  actionId: string,
  type: Type,
  metadata: object,
) {
  const message = {
    '@type': '/lumera.action.v1.MsgFinalizeAction',
    creator: caller,
    actionId,
    actionType: type,
    metadata: JSON.stringify(metadata),
  } as const;
  const draft = await chain.carryOut((to) => finalizeAction(to, message, block));
  const newState = draft.changes.actions.get(actionId)?.state;
  if (newState !== 'ACTION_STATE_DONE') return false;
  emit('ActionFinalized', { actionId, superNode: callerHex, newState: numberOf(states, newState) });
  return true;
}

async function list({ chain }: ContractCall, page: ContractPage, key: ActionKey) {
  const { actions, total } = await chain.listed(key, { offset: page.offset, limit: pageSize(page) });
  return { actions: actions.map(infoOf), total };
}

function infoOf(action: Action) {
  const { id, creator, type, state, metadata, price, expirationTime, height, superNodes } = action;
  return {
    actionId: id,
    creator: evmAddress(creator) ?? none,
    actionType: numberOf(types, type),
    state: numberOf(states, state),
    metadata: metadataText(metadata),
    price,
    expirationTime: BigInt(expirationTime),
    blockHeight: BigInt(height),
    superNodes: superNodes.map((node) => evmAddress(node) ?? none),
  };
}

/** Used for an account that has more than 20 bytes. */
const none = `0x${'00'.repeat(20)}`;
