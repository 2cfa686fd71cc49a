import type { StoredFile } from './manifest.ts';
import { type PieceHash, pieceBytes } from './piece-hash.ts';

type Piece = { bytes: number; isHere: boolean; files: string[] };

/** The contents of a store, for its readers: nothing here reads the disk. */
export type StorageIndex = Readonly<{
  /** A stored file; undefined where there is none. */
  file: (actionId: string) => StoredFile | undefined;
  /** Action ids of all files, in no order. */
  files: () => string[];
  /** Returns whether a piece lies here, as far as is known. */
  isHere: (hash: PieceHash) => boolean;
  /** All pieces that lie here, in no order. */
  pieces: () => PieceHash[];
  /** Pieces that lie here and that no file names. */
  orphans: () => PieceHash[];
  /** Pieces of a file that do not lie here, each once. */
  lacking: (actionId: string) => readonly PieceHash[];
  /** How many pieces of any file do not lie here. */
  lackingCount: () => number;
  /** Action ids of the files that name a piece. */
  filesOf: (hash: PieceHash) => readonly string[];
  /** Files whose pieces all lie here. */
  completeFiles: () => number;
  /** How many pieces lie here, and their bytes. */
  counts: () => Readonly<{ pieces: number; bytes: number }>;
}>;

/** The index as the store writes it. */
export type WrittenIndex = StorageIndex &
  Readonly<{
    /** Adds a file, or replaces the one of its action. */
    keep: (file: StoredFile) => void;
    forget: (actionId: string) => void;
    /** Records that a piece lies here; without `bytes` it has the size in its file's manifest. */
    arrived: (hash: PieceHash, bytes?: number) => void;
    /** Records that a piece lies here no longer; returns the bytes that it counted for, 0 where it did not lie here. */
    left: (hash: PieceHash) => number;
    /** The size of a piece by its file's manifest; undefined where no file names it. */
    bytesOf: (hash: PieceHash) => number | undefined;
  }>;

/**
 * What a store holds, empty at first. Every piece is counted with the bytes that were counted when it came, so that its
 * removal releases exactly those bytes.
 */
class MemoryIndex implements WrittenIndex {
  readonly #files = new Map<string, StoredFile>();
  readonly #pieces = new Map<PieceHash, Piece>();
  readonly #lackingIn = new Map<string, number>();
  readonly #totals = { pieces: 0, bytes: 0, lacking: 0 };

  file(actionId: string): StoredFile | undefined {
    return this.#files.get(actionId);
  }

  files(): string[] {
    return [...this.#files.keys()];
  }

  isHere(hash: PieceHash): boolean {
    return this.#pieces.get(hash)?.isHere ?? false;
  }

  pieces(): PieceHash[] {
    return this.#those(({ isHere }) => isHere);
  }

  orphans(): PieceHash[] {
    return this.#those(({ isHere, files: { length } }) => isHere && length === 0);
  }

  lacking(actionId: string): PieceHash[] {
    if ((this.#lackingIn.get(actionId) ?? 0) === 0) return [];
    return [...new Set(this.#files.get(actionId)?.pieces)].filter((hash) => !this.isHere(hash));
  }

  lackingCount(): number {
    return this.#totals.lacking;
  }

  filesOf(hash: PieceHash): readonly string[] {
    return this.#pieces.get(hash)?.files ?? [];
  }

  completeFiles(): number {
    return [...this.#lackingIn.values()].filter((count) => count === 0).length;
  }

  counts(): { pieces: number; bytes: number } {
    return { pieces: this.#totals.pieces, bytes: this.#totals.bytes };
  }

  bytesOf(hash: PieceHash): number | undefined {
    return this.#pieces.get(hash)?.bytes;
  }

  keep(file: StoredFile): void {
    this.forget(file.actionId);
    let lacking = 0;
    const named = new Set(file.pieces.map((hash, at) => this.#named(hash, sizeOf(file, at))));
    for (const piece of named) {
      if (!piece.isHere) lacking += 1;
      if (!piece.isHere && piece.files.length === 0) this.#totals.lacking += 1;
      piece.files = [...piece.files, file.actionId];
    }
    this.#lackingIn.set(file.actionId, lacking);
    this.#files.set(file.actionId, file);
  }

  forget(actionId: string): void {
    for (const hash of new Set(this.#files.get(actionId)?.pieces)) {
      const piece = this.#pieces.get(hash);
      if (!piece) continue;
      piece.files = piece.files.filter((one) => one !== actionId);
      if (!piece.isHere && piece.files.length === 0) this.#totals.lacking -= 1;
      this.#dropIfUnknown(hash, piece);
    }
    this.#files.delete(actionId);
    this.#lackingIn.delete(actionId);
  }

  arrived(hash: PieceHash, bytes?: number): void {
    const piece = this.#named(hash, bytes ?? 0);
    if (piece.isHere) return;
    this.#countLacking(piece, -1);
    Object.assign(piece, { isHere: true, bytes: bytes ?? piece.bytes });
    this.#totals.pieces += 1;
    this.#totals.bytes += piece.bytes;
  }

  left(hash: PieceHash): number {
    const piece = this.#pieces.get(hash);
    if (!piece?.isHere) return 0;
    piece.isHere = false;
    this.#countLacking(piece, 1);
    this.#totals.pieces -= 1;
    this.#totals.bytes -= piece.bytes;
    this.#dropIfUnknown(hash, piece);
    return piece.bytes;
  }

  #those(matches: (piece: Piece) => boolean): PieceHash[] {
    return [...this.#pieces].filter(([, piece]) => matches(piece)).map(([hash]) => hash);
  }

  /** The entry of a piece, made where there is none. */
  #named(hash: PieceHash, bytes: number): Piece {
    const piece = this.#pieces.get(hash) ?? { bytes, isHere: false, files: [] };
    this.#pieces.set(hash, piece);
    return piece;
  }

  #countLacking({ files }: Piece, by: 1 | -1): void {
    if (files.length > 0) this.#totals.lacking += by;
    for (const actionId of files) this.#lackingIn.set(actionId, (this.#lackingIn.get(actionId) ?? 0) + by);
  }

  #dropIfUnknown(hash: PieceHash, piece: Piece): void {
    if (!piece.isHere && piece.files.length === 0) this.#pieces.delete(hash);
  }
}

/** An empty index. */
export function createStorageIndex(): WrittenIndex {
  return new MemoryIndex();
}

function sizeOf({ size, pieces }: StoredFile, index: number): number {
  return index < pieces.length - 1 ? pieceBytes : size - index * pieceBytes;
}
