import { setTimeout as pause } from 'node:timers/promises';
import { runInWorker, type TaskContext } from '../src/kit/threads/worker.ts';

/** The body of a request that is sent again and again, and the pause after each answer. */
export type Repeated = Readonly<{ url: string; body: string; everyMs: number }>;

/** How long each request took, in milliseconds, one after the other until the signal aborts. */
export async function latencies(
  request: () => Promise<unknown>,
  { everyMs, signal }: Readonly<{ everyMs: number; signal: AbortSignal }>,
): Promise<number[]> {
  const all: number[] = [];
  while (!signal.aborted) {
    const began = performance.now();
    await request();
    all.push(performance.now() - began);
    await pause(everyMs);
  }
  return all;
}

/** The same in a thread of its own: nothing that the bench does itself, such as reading a long answer, is measured. */
export async function latenciesApart(repeated: Repeated, signal: AbortSignal): Promise<readonly number[]> {
  const how = { name: 'latencies', module: new URL(import.meta.url) };
  return await runInWorker<{ post: typeof post }>(how, 'post', repeated, { signal });
}

/** The task of that thread. */
export async function post({ url, body, everyMs }: Repeated, { signal }: TaskContext): Promise<readonly number[]> {
  const headers = { 'content-type': 'application/json' };
  return await latencies(async () => await (await fetch(url, { method: 'POST', headers, body })).text(), {
    everyMs,
    signal,
  });
}
