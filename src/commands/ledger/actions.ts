import { type Action, type BlockContext, nodeStateAt } from './chain.ts';
import type { Draft } from './draft.ts';
import { TransactionFailed } from './failure.ts';
import type { MessageOf } from './messages.ts';
import { type LedgerActionType, finalizedIds, requestedMetadata } from './metadata.ts';

type Request = MessageOf<'/lumera.action.v1.MsgRequestAction'>;
type Finalize = MessageOf<'/lumera.action.v1.MsgFinalizeAction'>;
type Approve = MessageOf<'/lumera.action.v1.MsgApproveAction'>;

/** Nodes that may finalize an action: so many of the ACTIVE ones nearest to its height. */
const finalizers = 10;

/** Registers an action: its price goes from the creator to the account of the action module. */
export function requestAction(draft: Draft, message: Request, block: BlockContext): void {
  const { params, modules } = draft.state.genesis;
  const type = actionTypeOf(message.actionType);
  const metadata = requestedMetadata(type, message.metadata, params);
  // Clients from before the field existed leave it empty.
  const fileSizeKbs = integer(message.fileSizeKbs || '0', 'file size');
  const price = priceOf(message.price, params.denom);
  // The chain compares the size in KB as if it were bytes, so its least price hardly grows.
  const least = BigInt(params.baseActionFee) + BigInt(params.feePerKbyte) * BigInt(Math.ceil(fileSizeKbs / 1024));
  if (price < least)
    throw new TransactionFailed(
      'request',
      `invalid price amount ${price}: must be at least ${least} (base + per-byte)`,
    );
  const expirationTime = integer(message.expirationTime, 'expiration time');
  const earliest = unixSeconds(block.time) + params.expirationSeconds;
  if (expirationTime < earliest) {
    const rule = `expiration time must be at least ${params.expirationSeconds.toFixed(6)} seconds from current block time`;
    throw new TransactionFailed('expired', `${rule}, but is ${expirationTime} and the minimum is ${earliest}`);
  }
  draft.pay(message.creator, modules.action, price);
  const id = String(draft.count('actions'));
  const { height } = block;
  const state = 'ACTION_STATE_PENDING';
  draft.putAction({
    id,
    creator: message.creator,
    type,
    metadata,
    price,
    expirationTime,
    state,
    height,
    superNodes: [],
    fileSizeKbs,
  });
  draft.emit('action_registered', { action_id: id, creator: message.creator, action_type: type, fee: message.price });
}

/**
 * Finalizes an action and pays its price out: the pool's share first, the rest to the finalizing node.
 *
 * A Cascade finalization that is not acceptable succeeds as a transaction, with the event
 * `action_finalization_rejected` instead of `action_finalized`; a Sense one fails.
 */
export function finalizeAction(draft: Draft, message: Finalize, block: BlockContext): void {
  const action = draft.action(message.actionId);
  if (action === undefined) throw new TransactionFailed('state', `action ${message.actionId} not found: not found`);
  if (action.state !== 'ACTION_STATE_PENDING') {
    throw new TransactionFailed(
      'state',
      `action ${action.id} cannot be finalized: current state ${action.state} is not one of pending or processing`,
    );
  }
  const ids = finalizedIds(action.type, message.metadata);
  const refusal = refusalOf(draft, action, message.creator, ids.length, block);
  if (refusal === undefined) return settle(draft, action, message.creator, ids);
  if (action.type === 'ACTION_TYPE_SENSE')
    throw new TransactionFailed(refusal.isNode ? 'unauthorized' : 'metadata', refusal.text);
  draft.emit('action_finalization_rejected', {
    action_id: action.id,
    creator: action.creator,
    finalizer: message.creator,
    action_type: action.type,
    error: refusal.text,
    evidence_id: String(draft.count('evidence')),
  });
}

/** Approves a finished action; only its creator may. */
export function approveAction(draft: Draft, message: Approve): void {
  const action = draft.action(message.actionId);
  if (action === undefined) throw new TransactionFailed('state', `action ${message.actionId} not found: not found`);
  if (action.creator !== message.creator) {
    throw new TransactionFailed(
      'state',
      `only the creator ${action.creator} can approve action ${action.id}: unauthorized supernode`,
    );
  }
  if (action.state !== 'ACTION_STATE_DONE')
    throw new TransactionFailed('state', `action ${action.id} cannot be approved: current state ${action.state}`);
  draft.putAction({ ...action, state: 'ACTION_STATE_APPROVED' });
  draft.emit('action_approved', { action_id: action.id, creator: action.creator, action_type: action.type });
}

/** Lets an action expire and refunds its price. */
export function expireAction(draft: Draft, action: Action): void {
  draft.pay(draft.state.genesis.modules.action, action.creator, action.price);
  draft.putAction({ ...action, state: 'ACTION_STATE_EXPIRED' });
  draft.emit('action_expired', { action_id: action.id, creator: action.creator, action_type: action.type });
}

function settle(draft: Draft, action: Action, node: string, ids: readonly string[]): void {
  const { params, modules } = draft.state.genesis;
  const metadata = action.metadata?.kind === 'cascade' ? { ...action.metadata, ids } : null;
  draft.putAction({ ...action, metadata, state: 'ACTION_STATE_DONE', superNodes: [node] });
  draft.emit('action_finalized', {
    action_id: action.id,
    creator: action.creator,
    action_type: action.type,
    supernodes: node,
  });
  const pool = (action.price * BigInt(params.poolShareBps)) / 10_000n;
  draft.pay(modules.action, modules.supernode, pool);
  draft.pay(modules.action, node, action.price - pool);
}

type Refusal = Readonly<{ text: string; isNode: boolean }>;

function refusalOf(
  draft: Draft,
  action: Action,
  finalizer: string,
  ids: number,
  block: BlockContext,
): Refusal | undefined {
  const active = draft.nodes().filter((node) => nodeStateAt(node, action.height) === 'SUPERNODE_STATE_ACTIVE');
  const distances = new Map(active.map((node) => [node, block.distance(action.height, node.operator)]));
  const nearest = active
    .toSorted((a, b) => ((distances.get(a) ?? '') < (distances.get(b) ?? '') ? -1 : 1))
    .slice(0, finalizers);
  if (!nearest.some((node) => node.account === finalizer)) {
    return {
      text: `supernode ${finalizer} is not in the top-10 ACTIVE supernodes for block height ${action.height}`,
      isNode: true,
    };
  }
  if (ids === action.metadata?.idsMax) return undefined;
  const kind = action.type === 'ACTION_TYPE_SENSE' ? 'sense' : 'cascade';
  return {
    text: `${kind} finalization rejected: ids verification failed: expected ${action.metadata?.idsMax} ids, got ${ids}`,
    isNode: false,
  };
}

function actionTypeOf(text: string): LedgerActionType {
  const name = text.toUpperCase().replace(/^ACTION_TYPE_/, '');
  if (name === 'SENSE') return 'ACTION_TYPE_SENSE';
  if (name === 'CASCADE') return 'ACTION_TYPE_CASCADE';
  throw new TransactionFailed('request', `invalid action type ${text}`);
}

function priceOf(text: string, denom: string): bigint {
  const amount = text.endsWith(denom) ? text.slice(0, -denom.length) : '';
  if (!/^\d{1,30}$/.test(amount)) throw new TransactionFailed('request', `invalid price ${text}`);
  return BigInt(amount);
}

function integer(text: string, what: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new TransactionFailed('request', `invalid ${what} ${text}`);
  return Number(text);
}

/** Unix seconds of an RFC 3339 time, rounded down. */
export function unixSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}
