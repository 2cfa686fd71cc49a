import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { bytesOf } from '../../edges/node/files-under-test.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';

const root = path.join(import.meta.dirname, '../../..');
const runFile = promisify(execFile);

/** Runs the curl example of docs/gateway.md as it stands there, but for the gateway's address. */
export async function expectExampleRuns(gateway: string): Promise<void> {
  const page = readFileSync(path.join(root, 'docs/gateway.md'), 'utf8');
  const block = [...page.matchAll(/```sh\n([^]*?)```/g)]
    .map(([, text]) => text ?? '')
    .find((text) => text.includes('curl'));
  const script = `set -eu\n${block?.replace('http://127.0.0.1:8080', gateway)}`;
  const { folder, remove } = freshFolder();
  try {
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    const bytes = bytesOf('d', 50_000);
    writeFileSync(path.join(folder, 'holiday.jpg'), bytes);
    const { stdout } = await runFile('bash', ['-c', script], { cwd: folder, timeout: 60_000 });
    expect(stdout.match(/^event: sdk:completed$/gm)).toHaveLength(2);
    expect(readFileSync(path.join(folder, 'back.jpg')).equals(bytes)).toBe(true);
  } finally {
    remove();
  }
}
