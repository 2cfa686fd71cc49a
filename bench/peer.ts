import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { installLocked } from '../test/support/programs/install-locked.ts';

/** Somebody else's system in a process of its own, told what to do line by line. */
export type Peer = Readonly<{
  /** Has the driver do something and gives back the figure of it; fails with what the driver said. */
  ask: (what: string, options?: object) => Promise<number>;
  stop: () => Promise<void>;
}>;

type Options = Readonly<{ say: (line: string) => void; signal: AbortSignal }>;
type Answer = Readonly<{ figure?: number; error?: string }>;

const folder = fileURLToPath(new URL('peers', import.meta.url));
const stopWithinMs = 5_000;

/**
 * Starts the driver `bench/peers/<name>.mjs`, after installing the peers as their lock says where that is still to be
 * done.
 *
 * Fails with a word why when there is no way to install them.
 */
export async function openPeer(name: string, { say, signal }: Options): Promise<Peer> {
  await installLocked(folder, 'the peers of the bench', say, signal);
  const driver = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', path.join(folder, `${name}.mjs`)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(driver, 'exit');
  const lastWords: string[] = [];
  createInterface(driver.stderr).on('line', (line) => lastWords.splice(0, lastWords.length - 4, line));
  driver.stdin.on('error', () => undefined);
  const lines = createInterface(driver.stdout)[Symbol.asyncIterator]();
  return {
    ask: async (what, options = {}) => {
      driver.stdin.write(`${JSON.stringify({ what, options })}\n`);
      const line = await lines.next();
      if (line.done) throw new Error(`${name} ended: ${lastWords.at(-1) ?? 'no word why'}`);
      const { figure, error } = JSON.parse(line.value) as Answer;
      if (figure === undefined) throw new Error(`${name} failed: ${error}`);
      return figure;
    },
    stop: async () => {
      driver.stdin.end();
      const late = setTimeout(() => driver.kill('SIGKILL'), stopWithinMs);
      await exited;
      clearTimeout(late);
    },
  };
}
