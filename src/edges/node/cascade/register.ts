import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { idsOf } from '../../chain/files/registration.ts';
import { isSignedBy } from '../../chain/files/signatures.ts';
import {
  type RegisterRequest,
  type RegisterResponseSchema,
  SupernodeEventType as Step,
} from '../../gen/cascade/service_pb.ts';
import { fewestCopies } from '../peers/copies.ts';
import { callerIn } from '../../rpc/callers.ts';
import type { ReceivedFile } from '../storage/draft.ts';
import type { Manifest } from '../storage/manifest.ts';
import type { ActionFile, CascadeAction } from '../../chain/files/chain.ts';
import type { CascadeDependencies } from './dependencies.ts';
import { receive } from './receive.ts';
import { mostBytesOf } from '../../chain/files/file-bounds.ts';
import { refusal, sayingNoRoom } from './refusals.ts';

type Reported = MessageInitShape<typeof RegisterResponseSchema>;

/** `CascadeService.Register`: takes a file in for a pending action, stores it and finalizes the action. */
export async function* register(
  cascade: CascadeDependencies,
  requests: AsyncIterable<RegisterRequest>,
  context: HandlerContext,
): AsyncGenerator<Reported> {
  const { signal } = context;
  const leave = cascade.turns.uploads(callerIn(context));
  let draft: ReceivedFile | undefined;
  let end: (() => void) | undefined;
  try {
    draft = await cascade.storage.receive();
    const actionId = await receive(requests, draft, cascade.maxFileBytes);
    const dataHash = await draft.finish().catch(sayingNoRoom);
    end = cascade.tasks.begin('cascade.upload', actionId, { once: true });
    if (!end) throw refusal('busy', `Action ${actionId} is being registered here`);
    const { action, file } = yield* checkAction(cascade, actionId, draft);
    yield* checkBytes(dataHash, file);
    const ids = yield* checkRegistration(cascade, action, file);
    signal.throwIfAborted();
    yield* storeAndFinalize(cascade, { actionId, draft, file, ids });
  } finally {
    end?.();
    await draft?.discard();
    leave();
  }
}

async function* checkAction(
  { chain, finalizer, account }: CascadeDependencies,
  actionId: string,
  draft: ReceivedFile,
): AsyncGenerator<Reported, { action: CascadeAction; file: ActionFile }> {
  const action = await chain.action(actionId);
  if (!action) throw refusal('notFound', `The chain has no Cascade action ${actionId}`);
  const { record, file } = action;
  if (record.chainState !== 'pending')
    throw refusal('notNow', `Action ${actionId} is ${record.chainState}, not pending`);
  yield reported(Step.ACTION_RETRIEVED, `Action ${actionId} of ${record.creator}`);
  if (draft.size() > mostBytesOf(record))
    throw refusal('notNow', `Action ${actionId} is for ${record.fileSizeKbs} KB; the file has ${draft.size()} bytes`);
  const fee = await finalizer.actionFee(Math.ceil(draft.size() / 1024));
  const price = BigInt(record.price?.amount ?? '0');
  if (price < fee) throw refusal('notNow', `The action pays ${price}; a file of this size costs ${fee}`);
  yield reported(Step.ACTION_FEE_VERIFIED, `The price of ${price} pays for the file`);
  if (!(await chain.finalizers(record.height ?? 0)).includes(account))
    throw refusal('notNow', `${account} is not in the top list of the action's height`);
  yield reported(Step.TOP_SUPERNODE_CHECK_PASSED, `${account} may finalize the action`);
  if (!file) throw refusal('notNow', `The metadata of action ${actionId} cannot be read`);
  yield reported(Step.METADATA_DECODED, `The file is ${file.isPublic ? 'public' : 'private'}`);
  return { action, file };
}

async function* checkBytes(dataHash: string, file: ActionFile): AsyncGenerator<Reported> {
  if (dataHash !== file.dataHash)
    throw refusal('invalid', `The bytes hash to ${dataHash}; the action is for ${file.dataHash}`);
  yield reported(Step.DATA_HASH_VERIFIED, `The bytes hash to ${dataHash}`);
  yield reported(Step.INPUT_ENCODED, 'The file is cut into pieces');
}

async function* checkRegistration(
  { chain, finalizer }: CascadeDependencies,
  { id, record: { creator }, appKey }: CascadeAction,
  { signatures, idsCounter, idsMax }: ActionFile,
): AsyncGenerator<Reported, readonly string[]> {
  const key = await chain.signatoryOf({ creator, appKey });
  const [index = '', signature = '', ...more] = signatures.split('.');
  const texts = [Buffer.from(index, 'base64').toString('utf8'), index];
  if (!key || more.length > 0 || !texts.some((text) => isSignedBy(key, text, signature)))
    throw refusal('notNow', `The index of action ${id} is not signed by ${creator}`);
  yield reported(Step.SIGNATURE_VERIFIED, `${creator} signed the index`);
  const ids = idsOf(signatures, idsCounter, idsMax);
  yield reported(Step.RQID_GENERATED, `${ids.length} ids follow from the index`);
  if (new Set(ids).size !== idsMax) throw refusal('notNow', `The index of action ${id} gives no ${idsMax} ids`);
  yield reported(Step.RQID_VERIFIED, 'They are as many as the chain asks for');
  await finalizer.simulate(id, ids);
  yield reported(Step.FINALIZE_SIMULATED, 'The chain would take the finalization');
  return ids;
}

type Finished = Readonly<{ actionId: string; draft: ReceivedFile; file: ActionFile; ids: readonly string[] }>;

async function* storeAndFinalize(
  { chain, storage, copies, finalizer, copyCount }: CascadeDependencies,
  { actionId, draft, file: { dataHash }, ids }: Finished,
): AsyncGenerator<Reported> {
  const size = draft.size();
  const manifest: Manifest = { actionId, dataHash, size, pieces: await draft.adopt() };
  await storage.keep(manifest).catch(sayingNoRoom);
  try {
    const spread = await copies.spread(manifest);
    if (spread.copies < Math.min(fewestCopies, copyCount, spread.listed + 1))
      throw refusal('unavailable', 'No other node takes the pieces of the file');
    yield reported(
      Step.ARTEFACTS_STORED,
      `${manifest.pieces.length} pieces are stored, ${spread.copies} copies of each`,
    );
    const txHash = await finalizer.finalize(actionId, ids);
    yield { ...reported(Step.ACTION_FINALIZED, `Action ${actionId} is finalized`), txHash };
  } catch (caught) {
    // Where the outcome is unknown, the file stays: the chain may have accepted the finalization.
    const state = await chain.action(actionId).then(
      (action) => action?.record.chainState,
      () => undefined,
    );
    if (state === 'pending' || state === 'expired') await storage.forget(actionId);
    throw caught;
  }
}

function reported(eventType: Step, message: string): Reported & { eventType: Step } {
  return { eventType, message };
}
