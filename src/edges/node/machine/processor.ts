import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { wait } from '../../../kit/wait.ts';
import { processorLimit, type ProcessorLimit } from './control-group.ts';

/** Processor time over the last complete window, and the cores it is a share of. */
export type Processor = Readonly<{ usagePercent: number; cores: number }>;

/** The counters of the processors at one moment; a limit is there where a control group sets one. */
export type ProcessorReading = Readonly<{
  atMs: number;
  idleMs: number;
  allMs: number;
  /** That affinity leaves this process. */
  cores: number;
  limit?: ProcessorLimit | undefined;
}>;

const windowMs = 1000;

/** Reads the processors of this machine. */
export async function readProcessors(): Promise<ProcessorReading> {
  const times = os.cpus().map((cpu) => cpu.times);
  const all = times.map(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq);
  return {
    atMs: performance.now(),
    idleMs: sum(times.map(({ idle }) => idle)),
    allMs: sum(all),
    cores: await coresByAffinity(),
    limit: await processorLimit(),
  };
}

/**
 * What happened between two readings: the share of all cores' time that was not idle, 0 to 100.
 *
 * Under a limit: the share of it that the group used. Cores are what affinity and limit leave, rounded up.
 */
export function processorBetween(before: ProcessorReading, after: ProcessorReading): Processor {
  const { limit } = after;
  const cores = limit ? Math.min(Math.ceil(limit.cores), after.cores) : after.cores;
  const idle = after.idleMs - before.idleMs;
  const all = after.allMs - before.allMs;
  const share =
    limit && before.limit
      ? (limit.usedMicros - before.limit.usedMicros) / (1000 * (after.atMs - before.atMs) * limit.cores)
      : 1 - idle / all;
  return { usagePercent: 100 * Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0)), cores };
}

/** Returns a function that reports the last complete window, and waits only within the first. */
export function sampleProcessors(
  signal: AbortSignal,
  read: () => Promise<ProcessorReading> = readProcessors,
): () => Promise<Processor> {
  const first = Promise.withResolvers<Processor>();
  let latest: Promise<Processor> = first.promise;
  const sample = async (): Promise<void> => {
    for (let before = await read(); !signal.aborted;) {
      await wait(windowMs, signal, { ref: false });
      const after = await read();
      const processor = processorBetween(before, after);
      first.resolve(processor);
      latest = Promise.resolve(processor);
      before = after;
    }
  };
  sample().catch(first.reject);
  return () => latest;
}

/** Bits of the mask that Linux shows; elsewhere every processor there is. */
async function coresByAffinity(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const [, mask = ''] = /^Cpus_allowed:\s*([\da-f,]+)$/m.exec(status) ?? [];
  const bits = mask
    .replaceAll(',', '')
    .split('')
    .map((digit) => Number.parseInt(digit, 16).toString(2).replaceAll('0', ''));
  return sum(bits.map((ones) => ones.length)) || os.availableParallelism();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
