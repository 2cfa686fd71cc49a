import { type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { targetOf } from '../edges/admin/private-socket.ts';
import { commandLineAgent } from '../edges/admin/operators.ts';
import type { Config } from '../config.ts';
import { dataFolder, findInstance, type Instance } from '../engine/servers/instance.ts';
import { AppError, errorCodes, toAppError } from '../kit/errors.ts';
import { poll } from '../kit/repeat.ts';

/** The administration of a running instance, on its socket. */
export type AdminClient = Readonly<{
  get: (address: string) => Promise<Answer>;
  post: (address: string, body?: object) => Promise<Answer>;
  patch: (address: string, body: object) => Promise<Answer>;
  delete: (address: string) => Promise<Answer>;
  /**
   * Opens an answer that comes in lines, until the returned function is called or it closes, which is reported as an
   * undefined line; fails where it is refused.
   */
  lines: (address: string, body: object, onLine: (line: Answer | undefined) => void) => Promise<() => void>;
  /**
   * The lines of an answer that has no end, until the signal aborts or the caller takes no more; fails where it is
   * refused, and with `UNAVAILABLE` where the instance ends it.
   */
  feed: (address: string, signal: AbortSignal) => AsyncIterable<Answer>;
}>;

type Answer = Readonly<Record<string, unknown>>;

const requestEachMs = 200;

/** Finds the socket of a running instance; undefined where no process answers there. */
export async function findAdmin(
  instance: Instance,
  { dataDir }: Readonly<{ dataDir: string }>,
): Promise<AdminClient | undefined> {
  const { network, urls } = instance;
  const socketPath = urls['admin'] ?? (await targetOf(path.join(dataFolder({ dataDir, network }), 'admin.sock')));
  const client: AdminClient = {
    get: async (address) => await answerOf(await send(socketPath, 'GET', address)),
    post: async (address, body) => await answerOf(await send(socketPath, 'POST', address, body)),
    patch: async (address, body) => await answerOf(await send(socketPath, 'PATCH', address, body)),
    delete: async (address) => await answerOf(await send(socketPath, 'DELETE', address)),
    lines: async (address, body, onLine) => {
      const response = await send(socketPath, 'POST', address, body);
      if (response.statusCode !== 202) await answerOf(response);
      createInterface({ input: response }).on('line', (line) => onLine(JSON.parse(line) as Answer));
      response.on('error', () => undefined).once('close', () => onLine(undefined));
      return () => response.destroy();
    },
    feed: (address, signal) => feedOf(socketPath, address, signal),
  };
  return await client.get('/admin/openapi.json').then(
    () => client,
    () => undefined,
  );
}

/** The administration of the running instance; fails with `UNAVAILABLE` where it does not answer. */
export async function adminOf(config: Config): Promise<AdminClient> {
  const instance = await findInstance(config);
  const admin = await findAdmin(instance, config);
  if (admin) return admin;
  throw new AppError('UNAVAILABLE', `Process ${instance.pid} does not answer on its socket: see what it logs`);
}

async function* feedOf(socketPath: string, address: string, signal: AbortSignal): AsyncGenerator<Answer> {
  const response = await send(socketPath, 'GET', address);
  if (response.statusCode !== 200) await answerOf(response);
  signal.addEventListener('abort', () => response.destroy(), { once: true });
  try {
    let rest = '';
    for await (const part of response.setEncoding('utf8')) {
      const lines = `${rest}${part}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as Answer;
    }
  } catch (caught) {
    if (signal.aborted) return;
    throw new AppError('UNAVAILABLE', 'The instance ended the answer', { cause: caught });
  }
}

async function send(socketPath: string, method: string, address: string, body?: object): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { 'user-agent': commandLineAgent, ...(body && { 'content-type': 'application/json' }) };
  request({ socketPath, method, path: address, headers, agent: false }, resolve)
    .on('error', reject)
    .end(body && JSON.stringify(body));
  return await promise;
}

async function answerOf(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  const answer = (text === '' ? {} : JSON.parse(text)) as Answer;
  if ((response.statusCode ?? 500) < 400) return answer;
  throw refusalIn(answer);
}

/** A refusal of the administration, or the error of an operation, as its caller reports it. */
function refusalIn({ error, code }: Answer): AppError {
  return new AppError(errorCodes.find((one) => one === code) ?? 'INTERNAL', String(error));
}

/**
 * Has the instance do an act, and returns its result once it has ended; an abort of the signal cancels it there.
 * Fails as the act failed.
 */
export async function haveDone(admin: AdminClient, address: string, signal: AbortSignal): Promise<Answer> {
  const { id } = await admin.post(`/admin/v1/${address}`);
  const operation = `/admin/v1/operations/${String(id)}`;
  const cancel = (): void => void admin.post(`${operation}/cancel`).catch(() => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  const isOver = async () => await admin.get(operation).then((one) => (one['status'] === 'running' ? undefined : one));
  const ended = await poll(isOver, { everyMs: requestEachMs });
  signal.removeEventListener('abort', cancel);
  if (ended?.['status'] === 'succeeded') return ended['result'] as Answer;
  throw refusalIn(ended?.['error'] as Answer);
}

/** What a verb does to a target, as the log names it. */
export type RecordedAct = Readonly<{ act: 'rebuild' | 'drop' | 'scrub' | 'repair' | 'rekey'; target: string }>;

/**
 * Does work of this process that the log records as an operator's act, from before it starts to how it ended; an
 * operator may cancel it from elsewhere.
 *
 * Work is done whether it can be recorded or not: a repair may be what the log waits for.
 */
export async function recorded<T extends object>(
  admin: AdminClient | undefined,
  act: RecordedAct,
  {
    signal,
    work,
    summary = (result) => result,
  }: Readonly<{ signal: AbortSignal; work: (signal: AbortSignal) => Promise<T>; summary?: (result: T) => object }>,
): Promise<T> {
  const cancelled = new AbortController();
  const opened = admin && (await hold(admin, act, () => cancelled.abort()).catch(unrecorded));
  if (!admin || !opened) return await work(signal);
  const report = async (end: object): Promise<void> => {
    await admin.post(`/admin/v1/operations/${opened.id}/end`, end).catch(unrecorded);
    opened.close();
  };
  try {
    const result = await work(AbortSignal.any([signal, cancelled.signal]));
    await report({ result: summary(result) });
    return result;
  } catch (caught) {
    const { code, message } = toAppError(caught);
    const isCancelled = signal.aborted || cancelled.signal.aborted;
    await report({ error: { error: message.slice(0, 4096), code: isCancelled ? 'CANCELLED' : code } });
    throw caught;
  }
}

async function hold(admin: AdminClient, act: RecordedAct, onCancel: () => void) {
  const opened = Promise.withResolvers<string>();
  const close = await admin.lines('/admin/v1/operations', act, (line) => {
    if (line === undefined) opened.reject(new AppError('UNAVAILABLE', 'the instance ended the answer'));
    else if (typeof line['operation'] === 'string') opened.resolve(line['operation']);
    else if (line['cancelled'] === true) onCancel();
  });
  return { id: await opened.promise, close };
}

function unrecorded(caught: unknown): undefined {
  process.stderr.write(`annals: the log does not record this act: ${toAppError(caught).message}\n`);
}
