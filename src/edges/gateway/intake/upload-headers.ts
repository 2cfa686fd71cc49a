import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../../kit/errors.ts';
import { baseName, unnamed } from './file-name.ts';

/** The headers of every request with bytes of a resumable upload. */
export type Portion = Readonly<{
  /** Offset in the file of its first byte. */
  offset: number;
  /** Whether they are the last. */
  complete: boolean;
  /** Bytes of the complete file, where the request declares them. */
  length: number | null;
}>;

/** The further headers of its first request. */
export type FirstPortion = Portion & Readonly<{ actionId: string; signature: string; fileName: string }>;

const portionType = 'application/partial-upload';

/** Reads the headers of a first request; fails with `INVALID_ARGUMENT`, naming what is missing or wrong. */
export function readOpening(headers: IncomingHttpHeaders): FirstPortion {
  const [actionId, signature] = [one(headers, 'annals-action-id'), one(headers, 'annals-signature')];
  const missing = [...(actionId === '' ? ['Annals-Action-Id'] : []), ...(signature === '' ? ['Annals-Signature'] : [])];
  if (missing.length > 0) throw new AppError('INVALID_ARGUMENT', `The request lacks the header ${missing.join(', ')}`);
  const fileName = nameIn(one(headers, 'content-disposition'));
  return { actionId, signature, fileName, offset: 0, complete: completeIn(headers), length: lengthIn(headers) };
}

/** Reads the headers of a further request; fails with `INVALID_ARGUMENT` or `UNSUPPORTED_MEDIA_TYPE`. */
export function readPortion(headers: IncomingHttpHeaders): Portion {
  if (one(headers, 'content-type') !== portionType)
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', `Bytes that go on with an upload are of Content-Type ${portionType}`);
  const offset = countIn(headers, 'upload-offset');
  if (offset === null) throw new AppError('INVALID_ARGUMENT', 'Upload-Offset says where the bytes go, as HEAD told it');
  return { offset, complete: completeIn(headers), length: lengthIn(headers) };
}

function completeIn(headers: IncomingHttpHeaders): boolean {
  const input = one(headers, 'upload-complete');
  if (input !== '?0' && input !== '?1')
    throw new AppError('INVALID_ARGUMENT', 'Upload-Complete is ?1 where these are the last bytes of the file, else ?0');
  return input === '?1';
}

function lengthIn(headers: IncomingHttpHeaders): number | null {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The bytes are encoded; send them without Content-Encoding');
  return countIn(headers, 'upload-length');
}

function countIn(headers: IncomingHttpHeaders, name: string): number | null {
  const options = one(headers, name);
  if (options === '') return null;
  if (!/^\d{1,15}$/.test(options)) throw new AppError('INVALID_ARGUMENT', `${name} is a number of bytes`);
  return Number(options);
}

function one(headers: IncomingHttpHeaders, name: string): string {
  const values = headers[name];
  return typeof values === 'string' ? values.trim() : '';
}

/** The file name of a `Content-Disposition`, in either of its forms. */
function nameIn(disposition: string): string {
  const coded = /;\s*filename\*=utf-8''([^;\s]+)/i.exec(disposition)?.[1];
  const plain = /;\s*filename=(?:"([^"]*)"|([^;\s]+))/i.exec(disposition);
  try {
    return baseName(coded === undefined ? (plain?.[1] ?? plain?.[2] ?? unnamed) : decodeURIComponent(coded));
  } catch {
    throw new AppError('INVALID_ARGUMENT', 'The file name in Content-Disposition cannot be read');
  }
}
