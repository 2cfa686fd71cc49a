import { createHash } from 'node:crypto';
import type { ChainEvent } from '../../commands/ledger/draft.ts';
import { gasLimits, gasWanted, type Message } from '../../commands/ledger/messages.ts';

/** A transaction in its block, without what it did: that stays in the log. */
export type SealedTransaction = Readonly<{
  /** Upper-case hex. */
  hash: string;
  height: number;
  /** RFC 3339, UTC. */
  time: string;
  code: number;
  log: string;
  gasWanted: number;
  gasUsed: number;
  /** Of its block in the log. */
  sequence: number;
}>;

/** What a transaction did. */
export type Body = Readonly<{ events: readonly ChainEvent[]; messages: readonly Message[] }>;

/** A transaction with what it did, as the log has it. */
export type WholeTransaction = SealedTransaction & Body;

/** Gives transactions what they did; fails with `UNAVAILABLE` while the log cannot be read. */
export type Whole = (transactions: readonly SealedTransaction[]) => Promise<readonly WholeTransaction[]>;

/** A sealed block; hashes are base64, as the wire has them. */
export type Block = Readonly<{
  height: number;
  time: string;
  transactions: readonly SealedTransaction[];
  hash: string;
  previousHash: string | null;
  dataHash: string;
}>;

type Parts = Omit<SealedTransaction, 'gasWanted' | 'gasUsed'> & Pick<Body, 'messages'>;

/** Real messages use between a fifth and two fifths of the gas that their signers allow. */
const gasShares = { carriedOut: 0.31, failed: 0.19 } as const;

/** Fills in what follows from a transaction's messages. */
export function transactionOf({ messages, ...rest }: Parts): SealedTransaction {
  const share = rest.code === 0 ? gasShares.carriedOut : gasShares.failed;
  const gasUsed = messages.reduce((sum, message) => sum + Math.round(gasLimits[message['@type']] * share), 0);
  return { ...rest, gasWanted: gasWanted(messages), gasUsed };
}

/** The bytes of a transaction; its hash is their SHA-256. */
export function transactionBytes(messages: readonly Message[], sequence: number): Buffer {
  return Buffer.from(JSON.stringify({ sequence: String(sequence), messages }));
}

/** The sequence that a transaction's signer had reached with it. */
export function sequenceOf(events: readonly ChainEvent[]): string {
  return attributeOf(events, 'tx', 'acc_seq')?.split('/')[1] ?? '0';
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
