import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';

/** Runs the script of docs/history.md that checks an action with none of our code, and gives back what it prints. */
export async function actionChecker(): Promise<(base: string, id: string) => Promise<string>> {
  const page = new URL('../../../../docs/history.md', import.meta.url);
  const [, script = ''] = /```js\n([^]*?)```/.exec(await readFile(page, 'utf8')) ?? [];
  const { folder, remove } = freshFolder();
  onTestFinished(remove);
  const file = path.join(folder, 'check-action.mjs');
  await writeFile(file, script);
  return async (base, id) => (await promisify(execFile)(process.execPath, [file, base, id])).stdout;
}
