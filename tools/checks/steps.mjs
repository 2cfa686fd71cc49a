import { spawn } from 'node:child_process';
import path from 'node:path';
import { root } from '../boot/paths.mjs';

/**
 * Runs named steps in their order, `atOnce` at a time, and prints one timed line each as it ends, with the words of
 * those that fail. A step's `work` returns its problems as text, or nothing. All steps run, so that one look shows
 * everything; returns the names of those that failed.
 */
export async function runSteps(steps, { atOnce = 1 } = {}) {
  const failed = [];
  const left = steps.values();
  const run = async () => {
    for (const { name, work } of left) {
      const started = performance.now();
      const problems = await work();
      const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
      console.log(`${seconds} s  ${problems ? 'FAILED' : 'ok    '}  ${name}`);
      if (!problems) continue;
      failed.push(name);
      console.log(`${problems.trimEnd()}\n`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return failed;
}

/** Runs an installed program in the root of the clone; what it wrote, when it fails, is the problem. */
export function installed(name, ...args) {
  return program(path.join(root, 'node_modules/.bin', name), args);
}

/** Like `installed`, for any program; with `live` it writes straight to the terminal. */
export async function program(file, args, { live = false, env = process.env } = {}) {
  const { code, output } = await execute(file, args, { live, env });
  if (code === 0) return undefined;
  return output || `${path.basename(file)} ended with ${code}`;
}

/** What a program writes, for questions; empty when it fails. */
export async function outputOf(file, args) {
  const { code, output } = await execute(file, args, { live: false, env: process.env });
  return code === 0 ? output : '';
}

function execute(file, args, { live, env }) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: root, env, stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => resolve({ code: -1, output: error.message }));
    child.once('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}
