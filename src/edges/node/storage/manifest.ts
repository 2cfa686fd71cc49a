import { isActionId } from '../../chain/rest/values.ts';
import { parseBounded } from '../../../kit/bounded-json.ts';
import { hashPiece, isPieceHash, type PieceHash, pieceBytes } from './piece-hash.ts';

/** The contents of a stored file: its pieces in order, all of `pieceBytes` but the last. */
export type Manifest = Readonly<{
  actionId: string;
  /** Base64 of BLAKE3-256 of the complete file, as the chain has it. */
  dataHash: string;
  size: number;
  pieces: readonly PieceHash[];
}>;

/** Facts of a file's action that a node knows and need not query from the chain again. */
export type FileMarks = Readonly<{
  /** The chain had the action done or approved: the file stays. */
  isFinalized: boolean;
  /** Accounts of the nodes that the chain lets finalize the action, in the chain's order. */
  group?: readonly string[] | undefined;
}>;

/** A file as a node stores it: its manifest, and the marks of its action. */
export type StoredFile = Manifest & FileMarks;

const mostInGroup = 100;
const hashOfNothing = Buffer.from(hashPiece(Buffer.alloc(0)), 'hex').toString('base64');

/** A manifest as bytes; the same ones for the same file. */
export function encodeManifest({ actionId, dataHash, size, pieces }: Manifest): Buffer {
  return Buffer.from(JSON.stringify({ actionId, dataHash, size, pieces }));
}

/** A file in the form of its node's record; a reader of manifests reads it as one. */
export function encodeStored({ actionId, dataHash, size, pieces, isFinalized, group }: StoredFile): Buffer {
  return Buffer.from(JSON.stringify({ actionId, dataHash, size, pieces, isFinalized, group }));
}

/** Returns whether two manifests describe the same file in the same pieces. */
export function isSameManifest(a: Manifest, b: Manifest): boolean {
  return encodeManifest(a).equals(encodeManifest(b));
}

/** Reads a manifest; undefined where the bytes are none, or one that is at odds with itself. */
export function decodeManifest(bytes: Uint8Array): Manifest | undefined {
  const retained = decodeStored(bytes);
  if (!retained) return undefined;
  const { actionId, dataHash, size, pieces } = retained;
  return { actionId, dataHash, size, pieces };
}

/** Reads a file as its node wrote it down; undefined where its manifest is none. */
export function decodeStored(bytes: Uint8Array): StoredFile | undefined {
  try {
    const read = parseBounded(Buffer.from(bytes).toString('utf8'), { depth: 3, values: 10_000 });
    if (typeof read !== 'object' || read === null) return undefined;
    const { actionId, dataHash, size, pieces, isFinalized, group }: Partial<Record<keyof StoredFile, unknown>> = read;
    const isSize = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
    if (!isActionId(actionId) || typeof dataHash !== 'string' || dataHash.length !== 44 || !isSize) return undefined;
    if (!Array.isArray(pieces) || !pieces.every(isPieceHash)) return undefined;
    if (pieces.length !== Math.ceil(size / pieceBytes)) return undefined;
    if (size === 0 && dataHash !== hashOfNothing) return undefined;
    const marks = { isFinalized: isFinalized === true, ...(isGroup(group) && { group }) };
    return { actionId, dataHash, size, pieces, ...marks };
  } catch {
    // From a peer, or a disk: the caller has no manifest.
    return undefined;
  }
}

function isGroup(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= mostInGroup && value.every((one) => typeof one === 'string');
}
