import { open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import multipart, { type Multipart, type MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../kit/errors.ts';
import type { FileHashes } from '../../chain/files/file-hashes.ts';
import { baseName } from './file-name.ts';
import { createFileWriter } from './file-writer.ts';
import type { OwnTime } from './pace.ts';

/** Bytes of an upload on the disk, all of them and flushed. */
export type Received = Readonly<{ path: string; size: number; fileName: string; hashes: readonly [string, string] }>;

/** An upload's form. */
export type UploadForm = Readonly<{ actionId: string; signature: string; received: Received }>;

/** What bounds an upload. */
export type ReceiveOptions = Readonly<{
  mostBytes: number;
  /** The file to write to; no other request uses it. */
  path: string;
  hashesOf: FileHashes['of'];
  /** Called before the first byte of the file is read where the form has named the action by then; fails to refuse. */
  admit: (actionId: string, signature: string | undefined) => Promise<unknown>;
  /** Called before bytes are written, with how many there are then; fails to refuse. */
  makeRoom: (bytes: number) => Promise<void>;
  ownTime: OwnTime;
}>;

type Fields = ReadonlyMap<string, string>;

const mostParts = 8;
const fieldBytes = 4096;
/** The bytes of a file that a form may hold before it has named the action. */
const unnamedBytes = 8 * 2 ** 20;

/** The plugin that `request.parts` comes from. */
export const multipartPlugin = multipart;

/**
 * Reads an upload's form as it comes: the file goes to the disk, is flushed at its end, and hashed in a thread.
 *
 * Fails with `INVALID_ARGUMENT` for a form that is none or lacks fields, with `PAYLOAD_TOO_LARGE`; the bytes are gone
 * then.
 */
export async function receiveForm(request: FastifyRequest, options: ReceiveOptions): Promise<UploadForm> {
  if (!request.isMultipart())
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      'An upload is a form: Content-Type multipart/form-data with a boundary',
    );
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The form is encoded; send it without Content-Encoding');
  const limits = { parts: mostParts, fieldSize: fieldBytes, fileSize: options.mostBytes, files: 2 };
  const fields = new Map<string, string>();
  let received: Received | undefined;
  try {
    for await (const part of request.parts({ limits, isPartAFile })) {
      if (fields.has(part.fieldname) || (part.type === 'file' && received))
        throw new AppError('INVALID_ARGUMENT', `The form has ${part.fieldname} twice`);
      if (part.type === 'field') fields.set(part.fieldname, textOf(part));
      else if (part.fieldname === 'file') received = await admitted(part, fields, options);
      else part.file.resume();
    }
    return formOf(fields, received);
  } catch (caught) {
    await rm(options.path, { force: true });
    throw readable(caught, options.mostBytes);
  }
}

/** The part `file` is one also where it has neither a name nor a type. */
function isPartAFile(field: string | undefined, type: string | undefined, name: string | undefined): boolean {
  return field === 'file' || type === 'application/octet-stream' || name !== undefined;
}

async function admitted(part: MultipartFile, fields: Fields, options: ReceiveOptions): Promise<Received> {
  const actionId = fields.get('action_id');
  if (actionId !== undefined && fields.has('signature')) requireAll(fields);
  if (actionId) await options.ownTime(options.admit(actionId, fields.get('signature')));
  return await store(part, actionId ? options.mostBytes : unnamedBytes, options);
}

function formOf(fields: Fields, received: Received | undefined): UploadForm {
  if (!received) throw lacking(fields, ['file']);
  requireAll(fields);
  const [actionId = '', signature = ''] = [fields.get('action_id'), fields.get('signature')];
  return { actionId, signature, received };
}

/** Fails unless a form has both texts; one that is empty is lacking. */
function requireAll(fields: Fields): void {
  if (!fields.get('action_id') || !fields.get('signature')) throw lacking(fields);
}

function lacking(fields: Fields, also: readonly string[] = []): AppError {
  const missing = [...['action_id', 'signature'].filter((name) => !fields.get(name)), ...also].join(', ');
  return new AppError('INVALID_ARGUMENT', `The form lacks ${missing}; an upload needs action_id, signature and file`);
}

function textOf(part: Extract<Multipart, { type: 'field' }>): string {
  if (part.valueTruncated)
    throw new AppError('INVALID_ARGUMENT', `${part.fieldname} is longer than ${fieldBytes} bytes`);
  return typeof part.value === 'string' ? part.value : '';
}

async function store(
  { file, filename }: MultipartFile,
  atMost: number,
  { path, mostBytes, hashesOf, makeRoom, ownTime }: ReceiveOptions,
): Promise<Received> {
  const writer = createFileWriter(await ownTime(open(path, 'wx', 0o600)));
  let size = 0;
  try {
    for await (const bytes of file as Readable & AsyncIterable<Buffer>) {
      size += bytes.length;
      if (size > atMost && atMost < mostBytes) throw unnamed();
      await ownTime(makeRoom(size));
      await ownTime(writer.write(bytes));
    }
    if (file.truncated) throw tooLarge(mostBytes);
  } finally {
    await ownTime(writer.end());
  }
  return { path, size, fileName: baseName(filename), hashes: await ownTime(hashesOf(path)) };
}

function unnamed(): AppError {
  return new AppError(
    'INVALID_ARGUMENT',
    `The form names no action before a file of more than ${unnamedBytes} bytes: put action_id and signature before file`,
  );
}

/** The error that a caller receives for a body that the parser refuses. */
function readable(caught: unknown, mostBytes: number): unknown {
  if (caught instanceof AppError) return caught;
  const code = caught instanceof Error && 'code' in caught ? String(caught.code) : '';
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge(mostBytes);
  if (code.startsWith('FST_'))
    return new AppError('INVALID_ARGUMENT', 'The form has too many or too long parts', { cause: caught });
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AppError('INSUFFICIENT_STORAGE', 'There is no room left on the disk; try again later', {
      cause: caught,
    });
  if (code.startsWith('E') && code !== 'ERR_STREAM_PREMATURE_CLOSE') return caught;
  return new AppError('INVALID_ARGUMENT', 'The form cannot be read: it is broken or was cut off', { cause: caught });
}

/** The refusal of a file that is larger than any may be. */
export function tooLarge(mostBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The file is too large; it may have ${mostBytes} bytes`);
}
