import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { chunkBytesOf, takeFrom } from '../../chain/files/chunks.ts';
import { DataChunkSchema, DownloadResponseSchema } from '../../gen/cascade/service_pb.ts';
import { longFieldsOf } from '../../rpc/long-fields.ts';
import type { Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';

const chunkPath = [DownloadResponseSchema.field.chunk.number, DataChunkSchema.field.data.number];

/** A file in chunks of which the call holds one piece: a client that takes nothing of them costs no more memory. */
export async function* chunksOf(
  { size, pieces }: Pick<Manifest, 'size' | 'pieces'>,
  pieceOf: (hash: PieceHash) => Promise<Buffer>,
  context: HandlerContext,
): AsyncGenerator<MessageInitShape<typeof DownloadResponseSchema>> {
  const long = longFieldsOf(context);
  const take = takeFrom(inTurn(pieces, pieceOf));
  for (let at = 0, chunkBytes = chunkBytesOf(size); at < size; at += chunkBytes) {
    context.signal.throwIfAborted();
    const bytes = Math.min(chunkBytes, size - at);
    const data = await long.field({ path: chunkPath, bytes, parts: take(bytes) });
    yield { responseType: { case: 'chunk', value: { data } } };
    long.check();
  }
}

async function* inTurn(
  pieces: readonly PieceHash[],
  pieceOf: (hash: PieceHash) => Promise<Buffer>,
): AsyncGenerator<Buffer> {
  for (const hash of pieces) yield await pieceOf(hash);
}
