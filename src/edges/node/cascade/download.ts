import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { isSignedBy } from '../../chain/files/signatures.ts';
import {
  type DownloadRequest,
  type DownloadResponseSchema,
  SupernodeEventType as Step,
} from '../../gen/cascade/service_pb.ts';
import { callerIn } from '../../rpc/callers.ts';
import type { Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';
import type { ActionFile, CascadeAction } from '../../chain/files/chain.ts';
import { mostBytesOf } from '../../chain/files/file-bounds.ts';
import { chunksOf } from './chunks-of.ts';
import type { CompleteFile, WantedFile } from '../peers/complete-files.ts';
import type { CascadeDependencies } from './dependencies.ts';
import { refusal } from './refusals.ts';

type Reported = MessageInitShape<typeof DownloadResponseSchema>;

/**
 * `CascadeService.Download`: sends a file.
 *
 * No byte leaves before all of them were read and their hash equals the chain's.
 */
export async function* download(
  cascade: CascadeDependencies,
  { actionId, signature }: DownloadRequest,
  context: HandlerContext,
): AsyncGenerator<Reported> {
  const { signal } = context;
  if (actionId === '') throw refusal('invalid', 'The request has no action_id');
  const leave = cascade.turns.downloads(callerIn(context));
  const end = cascade.tasks.begin('cascade.download', actionId);
  try {
    const action = await cascade.chain.action(actionId);
    if (!action) throw refusal('notFound', 'The chain has no such Cascade action');
    const { chainState, creator } = action.record;
    if (chainState !== 'done' && chainState !== 'approved')
      throw refusal('notNow', `Action ${actionId} is ${chainState}; only those done or approved can be downloaded`);
    yield reported(Step.ACTION_RETRIEVED, `Action ${actionId} of ${creator}`);
    const { file } = action;
    if (!file) throw refusal('notNow', `The metadata of action ${actionId} cannot be read`);
    yield reported(Step.METADATA_DECODED, `The file is ${file.isPublic ? 'public' : 'private'}`);
    await allow(cascade, action, { file, signature });
    yield reported(Step.NETWORK_RETRIEVE_STARTED, 'The pieces of the file are being looked for');
    const wanted = { actionId, dataHash: file.dataHash, mostBytes: mostBytesOf(action.record) };
    const manifest = await collect(cascade, wanted, signal);
    yield reported(Step.ARTEFACTS_DOWNLOADED, `${manifest.pieces.length} pieces are here`);
    yield reported(Step.DECODE_COMPLETED, `${manifest.size} bytes hash to ${manifest.dataHash}`);
    yield reported(Step.SERVE_READY, 'The file is ready');
    yield* chunksOf(manifest, pieceReader(cascade, actionId), context);
  } finally {
    end?.();
    leave();
  }
}

/** Any client may have a public file; a private one requires the creator's signature over the action id. */
async function allow(
  { chain }: CascadeDependencies,
  { id, record: { creator }, appKey }: CascadeAction,
  { file, signature }: Readonly<{ file: ActionFile; signature: string }>,
): Promise<void> {
  if (file.isPublic) return;
  if (signature === '') throw refusal('unsigned', 'A private file needs a download signature');
  const key = await chain.signatoryOf({ creator, appKey });
  if (!key || !isSignedBy(key, id, signature))
    throw refusal('wronglySigned', 'The download signature is not that of the creator of the action');
}

/** All pieces of the file, which together are it; every try is an entry of the status, also one that finds nothing. */
async function collect(
  { copies, diagnostics }: CascadeDependencies,
  wanted: WantedFile,
  signal: AbortSignal,
): Promise<Manifest> {
  const startedAt = performance.now();
  let match: CompleteFile = { keys: 0, here: 0, elsewhere: 0 };
  try {
    match = await copies.complete(wanted, signal);
  } finally {
    diagnostics.retrievals.add({
      timeUnix: BigInt(Math.floor(Date.now() / 1000)),
      keys: match.keys,
      required: match.keys,
      foundLocal: match.here,
      foundNetwork: match.elsewhere,
      durationMs: BigInt(Math.round(performance.now() - startedAt)),
    });
  }
  if (match.manifest) return match.manifest;
  throw refusal('unavailable', `No node that can be reached has the file of action ${wanted.actionId}`);
}

/** Reads a piece that a file cannot be sent without. */
function pieceReader({ copies }: CascadeDependencies, actionId: string): (hash: PieceHash) => Promise<Buffer> {
  const read = copies.reader(actionId);
  return async (hash) => {
    const piece = await read(hash);
    if (!piece) throw refusal('unavailable', `No node that can be reached has all pieces of action ${actionId}`);
    return piece.bytes;
  };
}

function reported(eventType: Step, message: string): Reported {
  return { responseType: { case: 'event', value: { eventType, message } } };
}
