import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import { AppError } from '../../kit/errors.ts';
import type { StatusEvent } from '../../edges/gateway/tasks/views.ts';
import { isEnd } from './follow-task.ts';

/** Shows a transfer as it goes: bars on a terminal, a line of each state otherwise, JSON for machines. */
export type TransferProgress = Readonly<{
  /** Starts a display of transferred bytes; `total` is undefined where their number is unknown. */
  bytes: (what: string, total: number | undefined) => (count: number) => void;
  state: (event: StatusEvent) => void;
  /** Takes the bars away; what is printed afterwards stays. */
  stop: () => void;
}>;

/** States of a usual transfer with one node, to have a length for the bar. */
const usualStates = { upload: 22, download: 9 } as const;
/** Clears what a bar left on the line. */
const toLineEnd = '\u001b[K';
const mib = 1024 * 1024;

/** The form of progress that fits where the verb's output goes. */
export function createProgress(direction: keyof typeof usualStates, { json }: { json: boolean }): TransferProgress {
  if (json)
    return { bytes: () => () => undefined, state: (event) => write(JSON.stringify(event)), stop: () => undefined };
  if (!process.stdout.isTTY)
    return { bytes: () => () => undefined, state: (event) => write(lineOf(event)), stop: () => undefined };
  return onTerminal(usualStates[direction]);
}

function onTerminal(usual: number): TransferProgress {
  const options = { hideCursor: true, clearOnComplete: true, stopOnComplete: false, stream: process.stdout };
  const format = '{what} {bar} {shown}';
  const bars = new MultiBar({ ...options, format, autopadding: true }, Presets.shades_grey);
  let states: SingleBar | undefined;
  let isOver = false;
  return {
    bytes: (what, total) => {
      let done = 0;
      const shown = (): string =>
        `${(done / mib).toFixed(1)} MiB${total === undefined ? '' : ` of ${(total / mib).toFixed(1)}`}`;
      const bar = bars.create(Math.max(total ?? 1, 1), 0, { what, shown: shown() });
      return (count) => {
        done += count;
        bar.update(total === undefined ? 0 : done, { what, shown: shown() });
      };
    },
    state: (event) => {
      const payload = { what: 'nodes   ', shown: event.status };
      states ??= bars.create(usual, 0, payload);
      states.update(isEnd(event) ? usual : Math.min(Number(event.id), usual - 1), payload);
      bars.log(`${lineOf(event)}${toLineEnd}\n`);
    },
    stop: () => {
      if (isOver) return;
      isOver = true;
      // Lines wait for the next turn of the bars, which would not come.
      bars.update();
      bars.stop();
    },
  };
}

/** A state as a line for people: time, name, and the most useful of its details. */
function lineOf({ created_at, status, data }: StatusEvent): string {
  const reported = ['supernode', 'txhash', 'message', 'error', 'previous_error']
    .map((name) => data[name])
    .filter((value) => typeof value === 'string' && value !== '');
  return [created_at.slice(11, 19), status, ...reported].join('  ');
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Shows every state of a task until its end; fails with `UNAVAILABLE` and the reason where the task failed. */
export async function showToEnd(
  states: AsyncIterable<StatusEvent>,
  progress: TransferProgress,
): Promise<StatusEvent[]> {
  const seen: StatusEvent[] = [];
  for await (const event of states) {
    progress.state(event);
    seen.push(event);
  }
  const last = seen.at(-1);
  if (last?.status === 'sdk:completed') return seen;
  const why = typeof last?.data['error'] === 'string' ? last.data['error'] : 'no reason is known';
  throw new AppError('UNAVAILABLE', `The transfer failed: ${why}. Run the same command again.`);
}
