/** A checkpoint's description of a tree. */
type Checkpoint = { origin: string; size: number; root: Uint8Array };

/** SHA-256 of bytes. */
export function sha256(...parts: Uint8Array[]): Promise<Uint8Array>;
/** The entry of an event in its log. */
export function entryOf(eventBytes: Uint8Array): Promise<Uint8Array>;
/** The text of a note that a key has signed. */
export function openNote(note: string, vkey: string): Promise<string>;
/** Verifies the signature of a checkpoint and returns its description of the tree. */
export function openCheckpoint(note: string, vkey: string): Promise<Checkpoint>;
/** Fails unless a tree has an entry at an index. */
export function checkInclusion(
  proof: Readonly<{ entry: Uint8Array; index: number; hashes: readonly Uint8Array[]; size: number; root: Uint8Array }>,
): Promise<void>;
/** Fails unless a tree starts with a smaller one. */
export function checkConsistency(
  proof: Readonly<{
    old: number;
    size: number;
    oldRoot: Uint8Array;
    root: Uint8Array;
    hashes: readonly Uint8Array[];
  }>,
): Promise<void>;
/** Fails unless the log of a key has an event, as a text of C2SP tlog-proof shows. */
export function checkProof(
  proof: string,
  eventBytes: Uint8Array,
  vkey: string,
): Promise<{ origin: string; index: number; size: number }>;
