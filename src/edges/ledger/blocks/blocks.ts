import { hash } from 'node:crypto';
import type { ChainEvent } from '../../../commands/ledger/draft.ts';
import { gasUsed } from '../../../commands/ledger/messages.ts';
import type { SentTransaction } from '../../chain/sign/transaction-codec.ts';

/** A transaction in its block, without what it did: that stays in the log. */
export type SealedTransaction = Readonly<{
  /** Upper-case hex. */
  hash: string;
  height: number;
  /** RFC 3339, UTC. */
  time: string;
  code: number;
  log: string;
  /** Of its block in the log. */
  sequence: number;
}>;

/** A transaction as it was sent: one of the chain's own, or one of the virtual machine. */
export type Content =
  | Readonly<{ kind: 'chain'; sent: SentTransaction }>
  | Readonly<{ kind: 'ethereum'; raw: Uint8Array; from: string; gasPrice: bigint; error: string | undefined }>;

/** The content of a transaction and its effects. */
export type Body = Readonly<{ events: readonly ChainEvent[]; content: Content; gasWanted: number; gasUsed: number }>;

/** A transaction with what it did, as the log has it. */
export type CompleteTransaction = SealedTransaction & Body;

/** Adds their effects to transactions; fails with `UNAVAILABLE` while the log cannot be read. */
export type Complete = (transactions: readonly SealedTransaction[]) => Promise<readonly CompleteTransaction[]>;

/** A transaction's bytes, as they were sent. */
export function bytesOfTransaction({ content }: Pick<Body, 'content'>): Uint8Array {
  return content.kind === 'chain' ? content.sent.bytes : content.raw;
}

/** A sealed block; hashes are base64, as the wire has them. */
export type SealedBlock = Readonly<{
  height: number;
  time: string;
  transactions: readonly SealedTransaction[];
  hash: string;
  previousHash: string | null;
  dataHash: string;
}>;

/** The content and effects of a transaction of the chain's own kind, as its block in the log has it. */
export function bodyOf(
  sent: SentTransaction,
  { code, events }: Readonly<{ code: number }> & Pick<Body, 'events'>,
): Body {
  const { messages, gasLimit } = sent.transaction;
  const used = Math.min(gasUsed(messages, code === 0), gasLimit);
  return { events, content: { kind: 'chain', sent }, gasWanted: gasLimit, gasUsed: used };
}

const hashOfNothing = sha256('');

/** The block that follows another. */
export function blockOf<T extends Pick<SealedTransaction, 'hash'>>(
  chainId: string,
  previous: Pick<SealedBlock, 'hash'> | undefined,
  parts: Readonly<{ height: number; time: string; transactions: readonly T[] }>,
): typeof parts & Pick<SealedBlock, 'hash' | 'previousHash' | 'dataHash'> {
  const dataHash = dataHashOf(parts.transactions);
  const previousHash = previous?.hash ?? null;
  const text = JSON.stringify([chainId, parts.height, parts.time, dataHash, previousHash]);
  return { ...parts, hash: sha256(text), previousHash, dataHash };
}

/** The hash of a block's transactions, base64. */
export function dataHashOf(transactions: readonly Pick<SealedTransaction, 'hash'>[]): string {
  if (transactions.length === 0) return hashOfNothing;
  return sha256(Buffer.concat(transactions.map(({ hash: one }) => Buffer.from(one, 'hex'))));
}

/** SHA-256 as base64. */
export function sha256(data: string | Buffer): string {
  return hash('sha256', data, 'base64');
}

/** The value of the first event of a type that has an attribute. */
export function attributeOf(events: readonly ChainEvent[], type: string, key: string): string | undefined {
  for (const event of events) {
    const match = event.type === type ? event.attributes.find((attribute) => attribute.key === key) : undefined;
    if (match) return match.value;
  }
  return undefined;
}
