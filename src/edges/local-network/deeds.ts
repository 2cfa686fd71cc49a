import { createHash } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';
import { base58 } from '@scure/base';
import type { Message } from '../../commands/ledger/messages.ts';
import type { Cast, CastNode, RealNode } from './cast.ts';
import { randomOf } from './random.ts';
import type { Deed, Registration } from './timeline.ts';

const fileNames = [
  'holiday photo.jpg',
  'archive.tar.gz',
  'report "final".docx',
  'music.flac',
  'notes.md',
  'übung.txt',
  'データ.bin',
  'scan 01.png',
] as const;
const idsOf = { cascade: 6, sense: 4 } as const;

/**
 * The signers of a deed's messages, its time (unix milliseconds), and the ids that the chain assigned to the script's
 * registrations.
 */
export type Scene = Readonly<{ seed: number; cast: Cast; atMs: number; idOf: (registration: number) => string }>;

/** The messages of a deed; all that is random in them follows from the seed and the action's id. */
export function messagesOf(deed: Deed, scene: Scene): Message[] {
  const { nodes, creators } = scene.cast;
  if (deed.kind === 'register') return deed.registrations.map((one) => request(one, scene));
  if (deed.kind === 'finalize') {
    const finalizer = at(at(nodes, deed.node).accounts, deed.account).account;
    return deed.actions.map((action) => finalize(action, finalizer, scene));
  }
  if (deed.kind === 'finalize-wrongly')
    return [finalize(deed.action, at(creators, deed.action.creator).account, scene)];
  if (deed.kind === 'approve') {
    const creator = at(creators, deed.creator).account;
    return [{ '@type': '/lumera.action.v1.MsgApproveAction', creator, actionId: scene.idOf(deed.action.id) }];
  }
  return [nodeMessage(deed, at(nodes, deed.node))];
}

type NodeDeed = Exclude<Deed, { kind: 'register' | 'finalize' | 'finalize-wrongly' | 'approve' }>;

function nodeMessage(deed: NodeDeed, { operator, accounts, address }: CastNode): Message {
  const signed = { creator: operator.account, validatorAddress: operator.operator };
  if (deed.kind === 'stop-node')
    return { '@type': '/lumera.supernode.v1.MsgStopSupernode', ...signed, reason: 'maintenance' };
  if (deed.kind === 'deregister-node') return { '@type': '/lumera.supernode.v1.MsgDeregisterSupernode', ...signed };
  if (deed.kind === 'register-node') return registration({ operator, account: accounts[0], address });
  const update = { ipAddress: '', note: '', supernodeAccount: accounts[deed.account].account, p2p_port: '' };
  return { '@type': '/lumera.supernode.v1.MsgUpdateSupernode', ...signed, ...update };
}

/** The message by which an operator puts a SuperNode on the chain. */
export function registration({
  operator,
  account,
  address,
}: Pick<RealNode, 'operator' | 'account' | 'address'>): Message {
  return {
    '@type': '/lumera.supernode.v1.MsgRegisterSupernode',
    creator: operator.account,
    validatorAddress: operator.operator,
    ipAddress: address,
    supernodeAccount: account.account,
    p2p_port: '4445',
  };
}

function request({ id, isSense, creator, lifetimeSeconds }: Registration, { seed, cast, atMs }: Scene): Message {
  const random = randomOf(`${seed}/action/${id}`);
  const sizeKbs = random.between(1, 2000);
  const data_hash = Buffer.from(blake3(random.bytes(32))).toString('base64');
  const sense = {
    collection_id: `collection-${random.between(1, 3)}`,
    data_hash,
    dd_and_fingerprints_ic: random.between(1, 49),
    group_id: `group-${random.between(1, 2)}`,
  };
  const layout = Buffer.from(JSON.stringify({ layout_ids: [base58.encode(random.bytes(32))], version: 1 })).toString(
    'base64',
  );
  const cascade = {
    data_hash,
    file_name: random.pick(fileNames),
    public: random.fraction() < 0.5,
    rq_ids_ic: random.between(1, 49),
    signatures: `${layout}.${random.bytes(64).toString('base64')}`,
  };
  return {
    '@type': '/lumera.action.v1.MsgRequestAction',
    creator: at(cast.creators, creator).account,
    actionType: isSense ? 'SENSE' : 'CASCADE',
    metadata: JSON.stringify(isSense ? sense : cascade),
    price: `${10_000 + 10 * sizeKbs}ulume`,
    expirationTime: String(Math.ceil(atMs / 1000) + lifetimeSeconds + 1),
    fileSizeKbs: String(sizeKbs),
    app_pubkey: null,
  };
}

function finalize({ id, isSense }: Registration, finalizer: string, { seed, idOf }: Scene): Message {
  const ids = Array.from({ length: isSense ? idsOf.sense : idsOf.cascade }, (_, index) =>
    base58.encode(createHash('sha256').update(`${seed}/${id}/${index}`).digest()),
  );
  return {
    '@type': '/lumera.action.v1.MsgFinalizeAction',
    creator: finalizer,
    actionId: idOf(id),
    actionType: isSense ? 'SENSE' : 'CASCADE',
    metadata: JSON.stringify(isSense ? { dd_and_fingerprints_ids: ids, signatures: '' } : { rq_ids_ids: ids }),
  };
}

/** Timelines name indices of the cast only; any other is a mistake of ours. */
function at<T>(items: readonly T[], position: number): T {
  const item = items[position];
  if (item === undefined) throw new Error(`The cast has no place ${position}`);
  return item;
}
