import type { StatusEvent } from '../../edges/gateway/tasks/views.ts';
import { AppError } from '../../kit/errors.ts';
import { parseBounded } from '../../kit/bounded-json.ts';
import { wait } from '../../kit/wait.ts';
import { refusalOf } from './gateway-refusal.ts';

/** Tasks of a gateway, by the path that reports their states. */
type Direction = 'upload' | 'download';

const paths = { upload: 'actions/cascade/tasks', download: 'downloads/cascade' } as const;
const ends = new Set(['sdk:completed', 'sdk:failed']);
/** Attempts without anything new until a stream counts as lost. */
const mostTries = 10;
const firstRetryMs = 250;
const longestRetryMs = 3000;

/** Returns whether nothing comes after this state. */
export function isEnd({ status }: StatusEvent): boolean {
  return ends.has(status);
}

/**
 * The states of a task, each once, from the first to the last, as they come.
 *
 * A stream that is cut is resumed after the last event received, by `Last-Event-ID`. Fails with `UNAVAILABLE` when it
 * was cut ten times with nothing new, and with the gateway's code when that knows no such task.
 */
export async function* followTask(gateway: string, direction: Direction, taskId: string): AsyncGenerator<StatusEvent> {
  const url = `${gateway}/api/v1/${paths[direction]}/${taskId}/status`;
  let last = 0;
  for (let tries = 0; tries < mostTries; tries++) {
    for await (const event of untilCut(url, last)) {
      last = Number(event.id);
      tries = 0;
      yield event;
      if (isEnd(event)) return;
    }
    await wait(Math.min(firstRetryMs * 2 ** tries, longestRetryMs), never);
  }
  throw new AppError(
    'UNAVAILABLE',
    `The stream of task ${taskId} is cut again and again; the task goes on. Its states: ${url.replace(/status$/, 'history')}`,
  );
}

const never = new AbortController().signal;

/** The events after a sequence until the stream is cut, however that happens; only a refusal fails. */
async function* untilCut(url: string, last: number): AsyncGenerator<StatusEvent> {
  try {
    for await (const event of readStream(url, last)) if (Number(event.id) > last) yield event;
  } catch (caught) {
    if (caught instanceof AppError && caught.code !== 'UNAVAILABLE') throw caught;
  }
}

async function* readStream(url: string, last: number): AsyncGenerator<StatusEvent> {
  const resumed = last === 0 ? {} : { 'last-event-id': String(last) };
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...resumed } });
  if (response.status === 204) return;
  if (response.status !== 200 || response.body === null)
    throw refusalOf({ status: response.status, text: await response.text() });
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const frames = `${rest}${chunk}`.split(/\r?\n\r?\n/);
    rest = frames.pop() ?? '';
    if (rest.length > mostFrame) throw new AppError('UNAVAILABLE', 'The gateway sends an event without an end');
    for (const frame of frames) {
      const event = eventIn(frame);
      if (event !== undefined) yield event;
    }
  }
}

const mostFrame = 1 << 20;

/** The event of a frame; undefined for comments, and for the last state that the gateway repeats under its name. */
function eventIn(frame: string): StatusEvent | undefined {
  const lines = frame.split(/\r?\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart());
  if (data.length === 0) return undefined;
  const parsed = parseBounded(data.join('\n'));
  const fields: Readonly<Record<string, unknown>> = typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  const { id, task_id, status, data: detail, created_at } = fields;
  if (typeof status !== 'string' || !/^\d+$/.test(String(id)))
    throw new AppError('UNAVAILABLE', 'The gateway sends an event that names no state');
  return {
    id: String(id),
    task_id: String(task_id),
    status,
    data: typeof detail === 'object' && detail !== null ? { ...detail } : {},
    created_at: String(created_at),
  };
}
