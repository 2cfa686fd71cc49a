import type { IncomingMessage } from 'node:http';
import pLimit from 'p-limit';
import { AppError, type ErrorCode } from '../../../kit/errors.ts';
import type { PartialUpload } from '../tasks/partial-uploads.ts';
import { findTask, newTaskId } from '../tasks/task-log.ts';
import { checkUpload, type Entry } from './admission.ts';
import { checkSignature } from './checks.ts';
import { createAlone } from './give-way.ts';
import type { Intake } from './intake.ts';
import { type OwnTime, withPace } from './pace.ts';
import { tooLarge } from './receive.ts';
import type { FirstPortion, Portion } from './upload-headers.ts';

/** Uploads that have begun and are no task yet: of one action, and of all. */
const [mostPerAction, mostOpen] = [16, 4096];
/**
 * Where there are so many, one that nobody continued for so long gives way: whoever lost the answer to its first
 * request cannot continue it.
 */
const leftMs = 60 * 60_000;

type Members = Readonly<Record<string, string | number>>;

/** A refusal that the draft has a problem type for. */
export class UploadProblem extends AppError {
  readonly type: string;
  /** Members of the problem that a program reads in order to continue. */
  readonly members: Members;
  constructor(code: ErrorCode, type: string, message: string, members: Members = {}) {
    super(code, message);
    this.type = `https://iana.org/assignments/http-problem-types#${type}`;
    this.members = members;
  }
}

/** Uploads in several requests. */
export type Resumable = Readonly<{
  /** Opens one for a pending action whose creator signed its data hash. */
  create: (opening: FirstPortion) => Promise<PartialUpload>;
  /** The state of an upload; a sender of bytes at that moment is disconnected. Fails with `NOT_FOUND`. */
  find: (id: string) => Promise<PartialUpload>;
  /**
   * Adds a request's bytes; the last ones make it a task. Bytes that came before a break stay.
   *
   * Fails with `UploadProblem` for bytes of another offset, of a complete file, or of another length than declared, and
   * as the form does.
   */
  append: (
    id: string,
    portion: Portion,
    from: Readonly<{ raw: IncomingMessage; ip: string }>,
  ) => Promise<PartialUpload>;
  remove: (id: string) => Promise<void>;
}>;

/** Receives uploads that come in several requests. */
export function createResumable(intake: Intake): Resumable {
  const { admission, chain, files, settings } = intake;
  const { partials } = files;
  const alone = createAlone();
  const match = async (id: string): Promise<PartialUpload> => {
    const upload = await partials.find(id);
    if (!upload) throw new AppError('NOT_FOUND', 'There is no such upload, or it is no longer kept; begin it anew');
    const { becomes = null, offset: length } = upload;
    if (upload.task !== null || becomes === null || !(await findTask(intake.log, becomes))) return upload;
    // Its task started, and the sender of the last byte never read the answer.
    const done = { ...upload, length, task: becomes };
    await partials.finish(done);
    return done;
  };
  const remove = async (id: string): Promise<void> => {
    await alone.run(id, async () => {
      await partials.remove(await match(id));
      files.space.settle(partials.bytesOf(id));
    });
  };
  const oneAtATime = pLimit(1);
  /** Of an action, and of all, the oldest that holds no byte gives way to the next one, else one that was left. */
  const evictOldest = async (actionId: string): Promise<void> => {
    const open = await partials.open();
    const own = open.filter((other) => other.actionId === actionId);
    const among = own.length >= mostPerAction ? own : open.length >= mostOpen ? open : [];
    if (among.length === 0) return;
    const idle = among.filter(({ id }) => !alone.isRunning(id));
    const leaving =
      idle.find(({ size }) => size === 0) ?? idle.find(({ touchedMs }) => Date.now() - touchedMs > leftMs);
    if (leaving) return await remove(leaving.id);
    if (among === own)
      throw new AppError(
        'TOO_MANY_REQUESTS',
        `As many uploads of action ${actionId} have begun as may: ${mostPerAction}; go on with one of them, or give one up`,
      );
    throw new AppError('INSUFFICIENT_STORAGE', `As many uploads have begun as may: ${mostOpen}; try again later`);
  };
  return {
    create: async ({ actionId, signature, fileName, length }) => {
      if (length !== null && length > settings.uploadMaxSize) throw tooLarge(settings.uploadMaxSize);
      const action = await admission.admit(actionId);
      await checkSignature({ chain, settings }, action, { text: action.file.dataHash, signature });
      return await oneAtATime(async () => {
        await evictOldest(actionId);
        return await partials.create({ actionId, signature, fileName, length, task: null });
      });
    },
    find: async (id) => await alone.run(id, async () => await match(id)),
    remove,
    append: async (id, portion, from) => {
      const giveWay = (): void => void (from.raw.complete || from.raw.destroy());
      return await alone.run(id, async () => await appended(intake, await match(id), portion, from), giveWay);
    },
  };
}

async function appended(
  intake: Intake,
  before: PartialUpload,
  portion: Portion,
  { raw, ip }: Readonly<{ raw: IncomingMessage; ip: string }>,
): Promise<PartialUpload> {
  const { admission, files, settings } = intake;
  const upload = placed(before, portion, settings.uploadMaxSize);
  const { id, actionId: action, offset: from } = upload;
  const most = upload.length ?? settings.uploadMaxSize;
  const { 'content-length': declared } = raw.headers;
  const end = declared === undefined ? undefined : from + Number(declared);
  if (end !== undefined && end > most) throw tooLong(upload, settings.uploadMaxSize);
  const body = { file: files.partials.bytesOf(id), from, bytes: upload.length ?? end, action };
  const { makeRoom, received, leave } = await admission.enter(ip, body);
  // Whoever sends the next bytes at once, or goes on after a break, has its room still.
  let expectedMs = settings.uploadStallTimeoutMs;
  try {
    if (upload.length !== before.length) await files.partials.describe(upload);
    const came = { ...upload, offset: await receive(intake, upload, { raw, makeRoom }) };
    if (!portion.complete) return came;
    expectedMs = 0;
    if (came.offset !== (came.length ?? came.offset)) throw inconsistent(came);
    received();
    return await finished(intake, came);
  } catch (caught) {
    if (caught instanceof AppError && caught.code === 'INSUFFICIENT_STORAGE') expectedMs = 0;
    throw caught;
  } finally {
    leave(expectedMs);
  }
}

/** The upload with the length that is now known; fails where the bytes do not continue it. */
function placed(upload: PartialUpload, { offset, length }: Portion, mostBytes: number): PartialUpload {
  if (upload.task !== null)
    throw new UploadProblem('INVALID_ARGUMENT', 'completed-upload', 'The file is whole already; watch its task', {
      task_id: upload.task,
    });
  if (offset !== upload.offset)
    throw new UploadProblem(
      'CONFLICT',
      'mismatching-upload-offset',
      `The upload has ${upload.offset} bytes; go on from there`,
      { 'expected-offset': upload.offset, 'provided-offset': offset },
    );
  const known = upload.length ?? length;
  if (length !== null && (length !== known || length < offset)) throw inconsistent({ ...upload, length: known });
  if (known !== null && known > mostBytes) throw tooLarge(mostBytes);
  return { ...upload, length: known };
}

function tooLong(upload: PartialUpload, mostBytes: number): AppError {
  return upload.length === null || upload.length > mostBytes ? tooLarge(mostBytes) : inconsistent(upload);
}

function inconsistent({ length }: PartialUpload): AppError {
  const message = `The bytes are not as many as was told: ${length}`;
  return new UploadProblem('INVALID_ARGUMENT', 'inconsistent-upload-length', message);
}

/** Writes a request's bytes at their offset; returns the number of all bytes so far. */
async function receive(
  { files, settings }: Intake,
  upload: PartialUpload,
  { raw, makeRoom }: Readonly<{ raw: IncomingMessage; makeRoom: Entry['makeRoom'] }>,
): Promise<number> {
  const { uploadMaxSize: mostBytes, uploadStallTimeoutMs: stallMs, uploadMinRate: minRate } = settings;
  const most = Math.min(upload.length ?? mostBytes, mostBytes);
  const ending = new AbortController();
  const read = async (ownTime: OwnTime): Promise<number> => {
    const writer = await ownTime(files.partials.writer(upload));
    let at = upload.offset;
    try {
      for await (const bytes of untilAborted(raw, ending.signal)) {
        if (at + bytes.length > most) throw tooLong(upload, mostBytes);
        await ownTime(makeRoom(at + bytes.length));
        await ownTime(writer.write(bytes));
        at += bytes.length;
      }
      return at;
    } finally {
      await ownTime(writer.end());
    }
  };
  let reading: Promise<number> | undefined;
  try {
    return await withPace(raw, { stallMs, minRate }, async (ownTime) => await (reading = read(ownTime)));
  } catch (caught) {
    ending.abort();
    // Whoever continues finds all that came, and nobody writes any more.
    await reading?.catch(() => undefined);
    throw caught;
  }
}

/** The bytes of a request until a signal aborts, also while none come. */
async function* untilAborted(raw: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = raw.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  for (;;) {
    const result = await new Promise<IteratorResult<Buffer> | undefined>((resolve, reject) => {
      const end = (): void => resolve(undefined);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      chunks
        .next()
        .finally(() => signal.removeEventListener('abort', end))
        .then(resolve, reject);
    });
    if (result === undefined || result.done === true) return;
    yield result.value;
  }
}

async function finished(intake: Intake, upload: PartialUpload): Promise<PartialUpload> {
  const { admission, begin, files } = intake;
  const { actionId, signature } = upload;
  const form = { actionId, signature, received: await files.partials.received(upload) };
  const action = await admission.admit(actionId);
  try {
    await checkUpload(intake, action, form);
  } catch (caught) {
    if (caught instanceof AppError && caught.code === 'INVALID_ARGUMENT') await files.partials.remove(upload);
    throw caught;
  }
  const named = { ...upload, length: form.received.size, becomes: upload.becomes ?? newTaskId() };
  await files.partials.describe(named);
  const task = await begin(action, { ...form, becomes: named.becomes });
  const done = { ...named, task: task.id };
  await files.partials.finish(done);
  return done;
}
