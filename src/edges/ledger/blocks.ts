import { createHash } from 'node:crypto';
import type { ChainEvent } from '../../commands/ledger/draft.ts';
import { gasLimits, gasWanted, type Message } from '../../commands/ledger/messages.ts';

/** A transaction in its block. */
export type SealedTransaction = Readonly<{
  /** Upper-case hex. */
  hash: string;
  height: number;
  /** RFC 3339, UTC. */
  time: string;
  code: number;
  log: string;
  events: readonly ChainEvent[];
  messages: readonly Message[];
  gasWanted: number;
  gasUsed: number;
  /** As a block shows it. */
  bytes: Buffer;
}>;

/** A sealed block; hashes are base64, as the wire has them. */
export type Block = Readonly<{
  height: number;
  time: string;
  transactions: readonly SealedTransaction[];
  hash: string;
  previousHash: string | null;
  dataHash: string;
}>;

type Parts = Pick<SealedTransaction, 'hash' | 'height' | 'time' | 'code' | 'log' | 'events' | 'messages'>;

/** Fills in what follows from a transaction: its bytes and its gas. */
export function transactionOf(parts: Parts): SealedTransaction {
  const sequence = Number(attributeOf(parts.events, 'tx', 'acc_seq')?.split('/')[1] ?? 0);
  const wanted = gasWanted(parts.messages);
  // Real messages use between a fifth and two fifths of what their signers allow.
  const used = Math.round(
    parts.messages.reduce((sum, message) => sum + gasLimits[message['@type']] * (parts.code === 0 ? 0.31 : 0.19), 0),
  );
  return { ...parts, gasWanted: wanted, gasUsed: used, bytes: transactionBytes(parts.messages, sequence) };
}

/** The bytes of a transaction; its hash is their SHA-256. */
export function transactionBytes(messages: readonly Message[], sequence: number): Buffer {
  return Buffer.from(JSON.stringify({ sequence: String(sequence), messages }));
}

/** The block that follows another. */
export function blockOf(
  chainId: string,
  previous: Block | undefined,
  parts: Pick<Block, 'height' | 'time' | 'transactions'>,
): Block {
  const dataHash = sha256(Buffer.concat(parts.transactions.map(({ hash }) => Buffer.from(hash, 'hex'))));
  const previousHash = previous?.hash ?? null;
  const hash = sha256(JSON.stringify([chainId, parts.height, parts.time, dataHash, previousHash]));
  return { ...parts, hash, previousHash, dataHash };
}

/** SHA-256 as base64. */
export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('base64');
}

/** The value of the first event of a type that has an attribute. */
export function attributeOf(events: readonly ChainEvent[], type: string, key: string): string | undefined {
  for (const event of events) {
    const found = event.type === type ? event.attributes.find((attribute) => attribute.key === key) : undefined;
    if (found) return found.value;
  }
  return undefined;
}
