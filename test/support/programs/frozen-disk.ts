import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { freshFolder } from './fresh-folder.ts';

/** More than the threads of a process that wait for its disk. */
const threads = 64;

/**
 * Has every work of this process with a file stand still, as on a disk that gives no answer: all threads for it wait
 * for pipes that nobody writes to. The returned function ends that.
 */
export function freezeDisk(): () => void {
  const { folder, remove } = freshFolder();
  const pipes = Array.from({ length: threads }, (_, index) => path.join(folder, String(index)));
  execFileSync('mkfifo', pipes);
  const waiting = pipes.map(async (pipe) => await open(pipe, 'r'));
  let isFrozen = true;
  return () => {
    if (!isFrozen) return;
    isFrozen = false;
    // A pipe that is open in both directions waits for nobody, and lets its reader in.
    const ends = pipes.map((pipe) => openSync(pipe, 'r+'));
    void Promise.all(waiting.map(async (one) => await (await one).close())).finally(() => {
      for (const end of ends) closeSync(end);
      remove();
    });
  };
}
