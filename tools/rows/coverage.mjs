import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** What names of tests can show, each a list of rows with a page that tells which tests show which row. */
export const lists = {
  specification: {
    rows: 'docs/spec-2-rows.json',
    page: 'docs/spec-2-coverage.md',
    title: 'Rows of spec 2 and its open points, and the tests that show them',
    tag: /^S2\./,
  },
  knownFaults: {
    rows: 'docs/known-faults.json',
    page: 'docs/known-faults.md',
    title: 'Faults that were measured in another indexer of the same chain, and the tests that show their absence here',
    tag: /^LS-/,
  },
};

/** A name that begins with tags, in any kind of quotes. */
const taggedName = /(['"`])((?:\[(?:S2\.[\w.-]+|LS-\d\d)\] ?)+)((?:(?!\1)[^\\\n]|\\.)*)\1/g;
const groupName = /\bdescribe(?:\.each\([^)]*\))?\((['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g;
const tag = /S2\.[\w.-]+|LS-\d\d/g;

/** The rows of a list, each with the tests that carry its tag, and the tags that name no row. */
export async function coverage(root, list) {
  const rows = JSON.parse(await readFile(path.join(root, list.rows), 'utf8'));
  const tests = (await Promise.all((await testFiles(root)).map(async (file) => testsIn(root, file)))).flat();
  const known = new Set(rows.map(({ id }) => id));
  return {
    rows: rows.map((row) => ({ ...row, tests: tests.filter(({ ids }) => ids.includes(row.id)) })),
    strangers: tests.flatMap(({ file, ids }) =>
      ids.filter((id) => list.tag.test(id) && !known.has(id)).map((id) => ({ file, id, rows: list.rows })),
    ),
  };
}

/** What is wrong: rows without a test, and tags without a row. */
export function rowProblems({ rows, strangers }) {
  return [
    ...rows.filter(({ tests }) => tests.length === 0).map(({ id, what }) => `No test shows ${id}: ${what}`),
    ...strangers.map(({ file, id, rows: list }) => `${file} carries ${id}, which is no row of ${list}`),
  ];
}

/** The list of rows and tests as a page. */
export function report({ rows }, list) {
  const shown = rows.filter(({ tests }) => tests.length > 0).length;
  const sections = Map.groupBy(rows, ({ where }) => where);
  const lines = [...sections].flatMap(([where, entries]) => [
    `## ${where[0].toUpperCase()}${where.slice(1)}`,
    '',
    ...entries.flatMap(rowLines),
    '',
  ]);
  return [
    `# ${list.title}`,
    '',
    `Written by \`tools/rows.mjs\` from \`${list.rows}\` and the names of the tests. ${shown} of ${rows.length} rows have a test.`,
    '',
    ...lines,
  ].join('\n');
}

function rowLines({ id, what, note, tests }) {
  const named = tests.map(({ file, name }) => `  - ${name} (\`${file}\`)`);
  return [`- **\`${id}\`** ${what}${note ? ` (${note})` : ''}`, ...(named.length > 0 ? named : ['  - **no test**'])];
}

async function testFiles(root) {
  const entries = await readdir(path.join(root, 'test'), { recursive: true });
  return entries
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => path.join('test', name))
    .toSorted();
}

async function testsIn(root, file) {
  const source = await readFile(path.join(root, file), 'utf8');
  const groups = [...source.matchAll(groupName)];
  return [...source.matchAll(taggedName)].map(({ index, 2: tags, 3: name }) => {
    const group = groups.findLast((one) => one.index < index)?.[2].replaceAll(/\[(?:S2\.[\w.-]+|LS-\d\d)\] ?/g, '');
    return { file, ids: tags.match(tag) ?? [], name: group ? `${group}: ${name}` : name };
  });
}
