import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import * as hooks from './gen/annals/events/v1/hooks_pb.ts';
import * as ledger from './gen/annals/events/v1/ledger_pb.ts';
import { ProbeFailedSchema, ProbeSucceededSchema } from './gen/annals/events/v1/probing_pb.ts';
import * as actions from './gen/annals/events/v1/sync_actions_pb.ts';
import * as nodes from './gen/annals/events/v1/sync_nodes_pb.ts';
import * as operations from './gen/annals/events/v1/operations_pb.ts';
import * as storage from './gen/annals/events/v1/storage_pb.ts';
import * as transfers from './gen/annals/events/v1/transfers_pb.ts';
import * as rounds from './gen/annals/events/v1/sync_rounds_pb.ts';
import { NodeDayClosedSchema } from './gen/annals/events/v1/uptime_pb.ts';
import { type Kind, type StreamName, streamOfKind, type streamTable } from './streams.ts';

type Entry = Readonly<{ schema: DescMessage; kind: Kind; entity: string }>;

/** Every fact there is: its schema, its kind, and the field of its data that names the entity. */
export const catalogue = {
  ActionRegistered: { schema: actions.ActionRegisteredSchema, kind: 'action', entity: 'action' },
  ActionFinalized: { schema: actions.ActionFinalizedSchema, kind: 'action', entity: 'action' },
  ActionApproved: { schema: actions.ActionApprovedSchema, kind: 'action', entity: 'action' },
  ActionExpired: { schema: actions.ActionExpiredSchema, kind: 'action', entity: 'action' },
  ActionStateObserved: { schema: actions.ActionStateObservedSchema, kind: 'action', entity: 'action' },
  ActionTransactionFound: { schema: actions.ActionTransactionFoundSchema, kind: 'action', entity: 'action' },
  SuperNodeListed: { schema: nodes.SuperNodeListedSchema, kind: 'node', entity: 'node' },
  SuperNodeChanged: { schema: nodes.SuperNodeChangedSchema, kind: 'node', entity: 'node' },
  SuperNodeRemoved: { schema: nodes.SuperNodeRemovedSchema, kind: 'node', entity: 'node' },
  ValidatorListed: { schema: nodes.ValidatorListedSchema, kind: 'validator', entity: 'validator' },
  ValidatorChanged: { schema: nodes.ValidatorChangedSchema, kind: 'validator', entity: 'validator' },
  ValidatorRemoved: { schema: nodes.ValidatorRemovedSchema, kind: 'validator', entity: 'validator' },
  ChainIdentified: { schema: rounds.ChainIdentifiedSchema, kind: 'sync', entity: 'source' },
  SyncRequested: { schema: rounds.SyncRequestedSchema, kind: 'sync', entity: 'source' },
  SyncRoundCompleted: { schema: rounds.SyncRoundCompletedSchema, kind: 'sync', entity: 'source' },
  SyncRoundFailed: { schema: rounds.SyncRoundFailedSchema, kind: 'sync', entity: 'source' },
  ProbeSucceeded: { schema: ProbeSucceededSchema, kind: 'probe', entity: 'node' },
  ProbeFailed: { schema: ProbeFailedSchema, kind: 'probe', entity: 'node' },
  NodeDayClosed: { schema: NodeDayClosedSchema, kind: 'day', entity: 'node' },
  UploadRequested: { schema: transfers.UploadRequestedSchema, kind: 'request', entity: 'task' },
  DownloadRequested: { schema: transfers.DownloadRequestedSchema, kind: 'request', entity: 'task' },
  TransferStarted: { schema: transfers.TransferStartedSchema, kind: 'transfer', entity: 'task' },
  TransferProgressed: { schema: transfers.TransferProgressedSchema, kind: 'transfer', entity: 'task' },
  TransferResumed: { schema: transfers.TransferResumedSchema, kind: 'transfer', entity: 'task' },
  TransferCompleted: { schema: transfers.TransferCompletedSchema, kind: 'transfer', entity: 'task' },
  TransferFailed: { schema: transfers.TransferFailedSchema, kind: 'transfer', entity: 'task' },
  RetrievalStarted: { schema: transfers.RetrievalStartedSchema, kind: 'retrieval', entity: 'retrieval' },
  RetrievalProgressed: { schema: transfers.RetrievalProgressedSchema, kind: 'retrieval', entity: 'retrieval' },
  RetrievalCompleted: { schema: transfers.RetrievalCompletedSchema, kind: 'retrieval', entity: 'retrieval' },
  RetrievalFailed: { schema: transfers.RetrievalFailedSchema, kind: 'retrieval', entity: 'retrieval' },
  FileStored: { schema: storage.FileStoredSchema, kind: 'file', entity: 'file' },
  FileRepaired: { schema: storage.FileRepairedSchema, kind: 'file', entity: 'file' },
  FileLost: { schema: storage.FileLostSchema, kind: 'file', entity: 'file' },
  PeerBanned: { schema: storage.PeerBannedSchema, kind: 'peer', entity: 'pair' },
  PeerReleased: { schema: storage.PeerReleasedSchema, kind: 'peer', entity: 'pair' },
  HookRegistered: { schema: hooks.HookRegisteredSchema, kind: 'hook', entity: 'hook' },
  HookChanged: { schema: hooks.HookChangedSchema, kind: 'hook', entity: 'hook' },
  HookSecretRotated: { schema: hooks.HookSecretRotatedSchema, kind: 'hook', entity: 'hook' },
  HookDisabled: { schema: hooks.HookDisabledSchema, kind: 'hook', entity: 'hook' },
  HookEnabled: { schema: hooks.HookEnabledSchema, kind: 'hook', entity: 'hook' },
  HookReplayed: { schema: hooks.HookReplayedSchema, kind: 'hook', entity: 'hook' },
  HookRemoved: { schema: hooks.HookRemovedSchema, kind: 'hook', entity: 'hook' },
  DeliveriesMade: { schema: hooks.DeliveriesMadeSchema, kind: 'hook', entity: 'hook' },
  DeliveriesFailed: { schema: hooks.DeliveriesFailedSchema, kind: 'hook', entity: 'hook' },
  ChainInitialised: { schema: ledger.ChainInitialisedSchema, kind: 'ledger', entity: 'chain' },
  EvmTransactionSubmitted: { schema: ledger.EvmTransactionSubmittedSchema, kind: 'submission', entity: 'hash' },
  CosmosTransactionSubmitted: { schema: ledger.CosmosTransactionSubmittedSchema, kind: 'submission', entity: 'hash' },
  SubmissionSealed: { schema: ledger.SubmissionSealedSchema, kind: 'submission', entity: 'hash' },
  SubmissionReplaced: { schema: ledger.SubmissionReplacedSchema, kind: 'submission', entity: 'hash' },
  SubmissionExpired: { schema: ledger.SubmissionExpiredSchema, kind: 'submission', entity: 'hash' },
  SubmissionDropped: { schema: ledger.SubmissionDroppedSchema, kind: 'submission', entity: 'hash' },
  BlockSealed: { schema: ledger.BlockSealedSchema, kind: 'ledger', entity: 'chain' },
  StateCheckpointed: { schema: ledger.StateCheckpointedSchema, kind: 'ledger', entity: 'chain' },
  OperationRequested: { schema: operations.OperationRequestedSchema, kind: 'operation', entity: 'operation' },
  OperationCompleted: { schema: operations.OperationCompletedSchema, kind: 'operation', entity: 'operation' },
  OperationFailed: { schema: operations.OperationFailedSchema, kind: 'operation', entity: 'operation' },
  OperationCancelled: { schema: operations.OperationCancelledSchema, kind: 'operation', entity: 'operation' },
  OperationInterrupted: { schema: operations.OperationInterruptedSchema, kind: 'operation', entity: 'operation' },
} as const satisfies Record<string, Entry>;

export type FactType = keyof typeof catalogue;
/** The names of all facts. */
export const factTypes = Object.keys(catalogue).filter(isFactType);

/** Returns whether a text names a fact of the catalogue. */
export function isFactType(name: string): name is FactType {
  return Object.hasOwn(catalogue, name);
}

/** A message as plain JSON data: schemas hold only text, booleans, 32-bit integers, doubles, messages and lists. */
export type Plain<T> = T extends readonly (infer Item)[]
  ? readonly Plain<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as Key extends `$${string}` ? never : Key]: Plain<T[Key]> }
    : T;

/** What a decision needs of an entity's last fact is in every fact of it, so it is never absent. */
type Carried<T> = (T extends { known?: infer K } ? { readonly known: Plain<NonNullable<K>> } : unknown) &
  (T extends { record?: infer R } ? { readonly record: Plain<NonNullable<R>> } : unknown);

type Shape<T extends FactType> = MessageShape<(typeof catalogue)[T]['schema']>;

/** What happened, discriminated by `type`; `data` is the event's payload, byte for byte what subscribers read. */
export type Fact<T extends FactType = FactType> = {
  [K in T]: Readonly<{ type: K; data: Plain<Shape<K>> & Carried<Shape<K>> }>;
}[T];

/** The names of the facts of a kind. */
export type FactTypeOf<K extends Kind> = {
  [T in FactType]: (typeof catalogue)[T]['kind'] extends K ? T : never;
}[FactType];

/** The names of the facts of all kinds of a stream. */
export type FactTypeIn<S extends StreamName> = FactTypeOf<
  { [Name in S]: keyof (typeof streamTable)[Name]['kinds'] }[S] & Kind
>;

/** The facts of a kind: all that can lie on the subject of one of its entities. */
export type FactOf<K extends Kind> = K extends Kind ? Fact<FactTypeOf<K>> : never;

/** The id of the entity that a fact is about, read from the fact's data. */
export function entityOf(fact: Fact): string {
  const id: unknown = Reflect.get(fact.data, catalogue[fact.type].entity);
  if (typeof id !== 'string' || id === '') throw new Error(`Fact ${fact.type} names no ${catalogue[fact.type].entity}`);
  return id;
}

/** The stream that a fact lies in. */
export function streamOf(type: FactType): StreamName {
  return streamOfKind(catalogue[type].kind);
}

/**
 * The subject of an entity: `evt.<kind>.<network>.<entity>`.
 *
 * Characters with a meaning for NATS (`.`, `*`, `>`, blanks, controls) and `%` are percent-encoded, so any text is one
 * token.
 *
 * @example subjectOf('action', 'local', '7') // evt.action.local.7
 */
export function subjectOf(kind: Kind, network: string, entity: string): string {
  return `evt.${kind}.${network}.${encodeToken(entity)}`;
}

function encodeToken(text: string): string {
  return text.replace(/[%.*>\s\p{Cc}]/gu, (char) => encodeURIComponent(char).replace('.', '%2E').replace('*', '%2A'));
}
