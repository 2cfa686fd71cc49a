import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const back of undo.splice(0)) back();
});

const run = promisify(execFile);
const script = path.join(import.meta.dirname, 'many-files.ts');

describe('a store with more files than its process may have open', () => {
  it('is read and swept', async () => {
    const { folder, remove } = freshFolder();
    undo.push(remove);
    mkdirSync(path.join(folder, 'files'), { recursive: true });
    for (let action = 1; action <= 1_500; action += 1) {
      const pieces = [action.toString(16).padStart(64, '0')];
      const manifest = { actionId: String(action), dataHash: 'h'.repeat(44), size: 10, pieces };
      writeFileSync(path.join(folder, 'files', String(action)), JSON.stringify(manifest));
    }
    const limited = `ulimit -n 256 && exec "${process.execPath}" "${script}" "${folder}"`;
    expect((await run('sh', ['-c', limited])).stdout).toBe('1500 files, 0 pieces\n');
  });
});
