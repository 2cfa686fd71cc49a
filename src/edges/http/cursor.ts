import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { base64urlnopad } from '@scure/base';
import { AppError } from '../../kit/errors.ts';

/** The position of a walk through a list. */
export type CursorPosition = Readonly<{
  /** Id of the last record shown. */
  after: string;
  /** Pages shown so far. */
  pages: number;
  /** The token of the instant that the walk is of; a walk of the head has none. */
  instant?: string | undefined;
}>;

/** The identity of a walk: the list and its filters, without the page size. */
export type Walk = Readonly<{ list: string; filters: Readonly<Record<string, unknown>> }>;

/** Seals and opens cursors: opaque, tamper-proof, good only for the walk that they were made for. */
export type Cursors = Readonly<{
  seal: (walk: Walk, location: CursorPosition) => string;
  /** Fails with `INVALID_ARGUMENT` for anything that `seal` has not made for the same walk. */
  open: (walk: Walk, cursor: string) => CursorPosition;
}>;

const nonceLength = 12;
const tagLength = 16;

/**
 * Cursors under a key, the same on every replica that has the key.
 *
 * The nonce follows from the content, so that the same page always carries the same cursor.
 *
 * @example const { seal, open } = createCursors('a secret of sixteen or more')
 */
export function createCursors(key: string | Uint8Array): Cursors {
  const sealing = derive(key, 'annals cursor seal');
  const naming = derive(key, 'annals cursor nonce');
  return {
    seal(walk, place) {
      const { after, pages, instant } = place;
      const content = JSON.stringify(instant === undefined ? [after, pages] : [after, pages, instant]);
      const bound = bindingOf(walk);
      const nonce = createHmac('sha256', naming).update(bound).update(content).digest().subarray(0, nonceLength);
      const cipher = createCipheriv('aes-256-gcm', sealing, nonce).setAAD(bound);
      return base64urlnopad.encode(
        Buffer.concat([nonce, cipher.update(content, 'utf8'), cipher.final(), cipher.getAuthTag()]),
      );
    },
    open(walk, cursor) {
      const opened = parsePosition(decrypt(sealing, bindingOf(walk), cursor));
      if (!opened) throw foreign();
      return opened;
    },
  };
}

function decrypt(key: KeyObject, bound: Buffer, cursor: string): string {
  try {
    const bytes = Buffer.from(base64urlnopad.decode(cursor));
    if (bytes.length <= nonceLength + tagLength) throw foreign();
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceLength), { authTagLength: tagLength });
    decipher.setAAD(bound).setAuthTag(bytes.subarray(-tagLength));
    return decipher.update(bytes.subarray(nonceLength, -tagLength), undefined, 'utf8') + decipher.final('utf8');
  } catch (caught) {
    throw foreign(caught);
  }
}

function parsePosition(content: string): CursorPosition | undefined {
  const value: unknown = JSON.parse(content);
  if (!Array.isArray(value)) return undefined;
  const [after, pages, instant]: unknown[] = value;
  if (typeof after !== 'string' || typeof pages !== 'number') return undefined;
  return { after, pages, ...(typeof instant === 'string' ? { instant } : {}) };
}

function bindingOf({ list, filters }: Walk): Buffer {
  const input = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([1, list, input]))
    .digest();
}

function derive(key: string | Uint8Array, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, 32)));
}

function foreign(cause?: unknown): AppError {
  const message =
    'cursor is not one that this list has given out for these filters; it takes the cursor of the last answer, with the same filters.';
  return new AppError('INVALID_ARGUMENT', message, { cause });
}
