import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Part, PartOptions } from '../part.ts';

const vitest = new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url).pathname;

/** A part that runs the tests of a file with larger counts than `npm test` does; a test may be named. */
export function longRun(
  file: string,
  environment: (options: Pick<PartOptions, 'count' | 'seed'>) => Readonly<Record<string, number>>,
  test?: string,
): Part {
  return {
    run: async ({ count, seed, log }) => {
      const given = Object.entries(environment({ count, seed })).map(([name, value]) => [name, String(value)]);
      const child = spawn(process.execPath, [vitest, 'run', file, ...(test === undefined ? [] : ['-t', test])], {
        env: { ...process.env, ...Object.fromEntries(given) },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      createInterface(child.stdout).on('line', (line) => log(line));
      const [status] = await once(child, 'exit');
      return status === 0 ? { passed: count, failed: 0 } : { passed: 0, failed: 1 };
    },
  };
}
