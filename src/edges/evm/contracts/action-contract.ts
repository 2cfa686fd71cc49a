import { approveAction, finalizeAction, requestAction } from '../../../commands/ledger/actions.ts';
import type { Action } from '../../../commands/ledger/chain.ts';
import { metadataText } from '../../../commands/ledger/metadata.ts';
import { evmAddress } from '../../chain/sign/addresses.ts';
import type { ActionKey } from './action-index.ts';
import { type Call, type Methods, numberOf, type Page, pageSize, refuse } from './contract.ts';

const types = ['ACTION_TYPE_SENSE', 'ACTION_TYPE_CASCADE'];
const states = 'PENDING PROCESSING DONE APPROVED REJECTED FAILED EXPIRED'
  .split(' ')
  .map((word) => `ACTION_STATE_${word}`);

type Requested = Readonly<{ dataHash: string; price: bigint; expirationTime: bigint; fileSizeKbs: bigint }>;
type Cascade = Requested & Readonly<{ fileName: string; rqIdsIc: bigint; signatures: string }>;

/** The contract of actions: the rules that the chain's own messages call, in the name of the caller. */
export const actionMethods = {
  requestCascade: async (call: Call, given: Cascade) =>
    await request(call, given, 'CASCADE', {
      data_hash: given.dataHash,
      file_name: given.fileName,
      rq_ids_ic: Number(given.rqIdsIc),
      signatures: given.signatures,
    }),
  requestSense: async (call: Call, given: Requested & Readonly<{ ddAndFingerprintsIc: bigint }>) =>
    await request(call, given, 'SENSE', {
      data_hash: given.dataHash,
      dd_and_fingerprints_ic: Number(given.ddAndFingerprintsIc),
    }),
  finalizeCascade: async (call: Call, given: Readonly<{ actionId: string; rqIdsIds: readonly string[] }>) =>
    await finalize(call, given.actionId, 'CASCADE', { rq_ids_ids: given.rqIdsIds }),
  finalizeSense: async (call: Call, given: Readonly<{ actionId: string; ddAndFingerprintsIds: readonly string[] }>) =>
    await finalize(call, given.actionId, 'SENSE', { dd_and_fingerprints_ids: given.ddAndFingerprintsIds }),
  approveAction: async ({ chain, caller, callerHex, emit }: Call, actionId: string) => {
    const message = { '@type': '/lumera.action.v1.MsgApproveAction', creator: caller, actionId } as const;
    await chain.carryOut((draft) => approveAction(draft, message));
    emit('ActionApproved', { actionId, creator: callerHex });
    return true;
  },
  getAction: async ({ chain }: Call, actionId: string) =>
    await chain.run(({ action }) => infoOf(action(actionId) ?? refuse(`action ${actionId} not found`))),
  getActionFee: async ({ chain }: Call, dataSizeKbs: bigint) => {
    const { baseActionFee, feePerKbyte } = chain.genesis.params;
    const perKb = BigInt(feePerKbyte);
    const baseFee = BigInt(baseActionFee);
    return { baseFee, perKbFee: perKb, totalFee: baseFee + perKb * dataSizeKbs };
  },
  getActionsByCreator: async (call: Call, { creator, ...page }: Page & Readonly<{ creator: string }>) =>
    await list(call, page, `creator/${creator.toLowerCase()}`),
  getActionsByState: async (call: Call, { state, ...page }: Page & Readonly<{ state: bigint }>) =>
    await list(call, page, `state/${states[Number(state) - 1] ?? ''}`),
  getActionsBySuperNode: async (call: Call, { superNode, ...page }: Page & Readonly<{ superNode: string }>) =>
    await list(call, page, `node/${superNode.toLowerCase()}`),
  getParams: async ({ chain }: Call) => {
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
  { chain, block, caller, callerHex, emit }: Call,
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
  { chain, block, caller, callerHex, emit }: Call,
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

async function list({ chain }: Call, page: Page, key: ActionKey) {
  const { actions, total } = await chain.listed(key, { offset: page.offset, limit: pageSize(page) });
  return { actions: actions.map(infoOf), total };
}

function infoOf(action: Action) {
  const { id, creator, type, state, metadata, price, expirationTime, height, superNodes } = action;
  return {
    actionId: id,
    creator: evmAddress(creator) ?? nobody,
    actionType: numberOf(types, type),
    state: numberOf(states, state),
    metadata: metadataText(metadata),
    price,
    expirationTime: BigInt(expirationTime),
    blockHeight: BigInt(height),
    superNodes: superNodes.map((node) => evmAddress(node) ?? nobody),
  };
}

/** Used for an account that has more than 20 bytes. */
const nobody = `0x${'00'.repeat(20)}`;
