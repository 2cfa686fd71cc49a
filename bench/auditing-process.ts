/**
 * A process that compares and prunes the archive of a stream in a thread, as the auditor does, and says what that
 * cost its own event loop and how its memory grew: one line of JSON.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type * as thread from '../src/engine/archive/thread.ts';
import type { StreamName } from '../src/events/streams.ts';
import { routineThread } from '../src/engine/archive/auditor.ts';
import { brakes } from '../src/engine/archive/states.ts';
import { runInWorker } from '../src/kit/threads/worker.ts';

/** What the process is given, as JSON in its first argument. */
export type AuditingInput = Readonly<{ access: thread.StoresAccess; stream: StreamName; perSecond: number }>;

/** The delay that 999 of 1,000 looks stayed below, how much resident memory came on top at most, and what was found. */
export type AuditingOutput = Readonly<{
  p999Ms: number;
  grownMb: number;
  seconds: number;
  findings: readonly string[];
}>;

const lookEachMs = 50;
const input: AuditingInput = JSON.parse(process.argv[2] ?? '');

const before = process.memoryUsage().rss;
let most = before;
const looking = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), lookEachMs);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const began = performance.now();
const { findings } = await runInWorker<typeof thread, 'examineStream'>(routineThread, 'examineStream', {
  ...input,
  brakes,
});
delay.disable();
clearInterval(looking);
const output: AuditingOutput = {
  p999Ms: delay.percentile(99.9) / 1e6,
  grownMb: (most - before) / 1024 / 1024,
  seconds: (performance.now() - began) / 1000,
  findings,
};
process.stdout.write(`${JSON.stringify(output)}\n`);
