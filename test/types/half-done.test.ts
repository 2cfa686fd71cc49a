import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** An addition that is made in one place only, and the files that must not compile before they have answered it. */
const halfDone = [
  {
    what: 'a fact',
    file: 'src/events/catalogue.ts',
    before: '  ChainIdentified: {',
    added: "  SyncRoundSkipped: { schema: rounds.ChainIdentifiedSchema, kind: 'sync', entity: 'source' },\n",
    unanswered: ['src/commands/sync/sources.ts', 'src/projections/rounds/rounds.ts'],
  },
  {
    what: 'a column',
    file: 'src/projections/fleet/fleet-tables.ts',
    before: "    state_reason: 'text',\n",
    added: "    state_colour: 'text',\n",
    unanswered: ['src/projections/fleet/supernodes.ts'],
  },
  {
    what: 'a role',
    file: 'src/role-names.ts',
    before: '  indexer: {',
    added: "  oracle: { does: 'answers', runsUnasked: () => false },\n",
    unanswered: ['src/roles/all.ts', 'src/roles/ports.ts'],
  },
] as const;

let folder: string;
let failing: ReadonlySet<string>;

/** Compiles a copy of the source that has all additions. */
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'annals-types-'));
  cpSync(path.join(root, 'src'), path.join(folder, 'src'), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  cpSync(path.join(root, 'package.json'), path.join(folder, 'package.json'));
  const config = { extends: path.join(root, 'tsconfig.json'), include: ['src'] };
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
  for (const { file, before, added } of halfDone) {
    const text = readFileSync(path.join(folder, file), 'utf8');
    expect(text, `${file} has a place for ${added}`).toContain(before);
    writeFileSync(path.join(folder, file), text.replace(before, added + before));
  }
  failing = new Set([...(await compile(folder)).matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file = '']) => file));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function compile(cwd: string): Promise<string> {
  const compiler = path.join(root, 'node_modules/.bin/tsc');
  return new Promise((resolve) =>
    execFile(compiler, ['--noEmit', '--pretty', 'false'], { cwd, maxBuffer: 2 ** 26 }, (_, stdout) => resolve(stdout)),
  );
}

test.each(halfDone)('$what that is added in one place alone does not compile', ({ unanswered }) => {
  for (const file of unanswered) expect(failing).toContain(file);
});

test('nothing else fails to compile: what is derived follows by itself', () => {
  const expected: readonly string[] = halfDone.flatMap(({ unanswered }) => unanswered);
  expect([...failing].filter((file) => !expected.includes(file))).toEqual([]);
});
