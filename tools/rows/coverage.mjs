import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

const folder = 'test/rows';

/** A name with the tags of its test in the options after it: `'takes 1 to 200', { tags: ['S2.actions.limit'] }`. */
const taggedName = /(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1,\s*\{\s*tags:\s*\[([^\]]*)\]/g;
const groupName = /\bdescribe(?:\.each\([^)]*\))?\((['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g;
const tagInName = /(['"`])\[[A-Z][A-Z\d]*[.-][\w.-]+\] /g;

/** The lists of rows, one JSON file each: its `title`, the `page` that is written of it, and its `rows`. */
export async function readLists(root) {
  const names = (await readdir(path.join(root, folder))).filter((name) => name.endsWith('.json')).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const file = `${folder}/${name}`;
      return { file, ...JSON.parse(await readFile(path.join(root, file), 'utf8')) };
    }),
  );
}

/** Every list with the tests of each of its rows, and what is wrong: rows without a test, tags without a row. */
export async function coverage(root) {
  const lists = await readLists(root);
  const sources = await Promise.all((await testFiles(root)).map((file) => readTests(root, file)));
  const tests = sources.flatMap((source) => source.tests);
  const known = new Set(lists.flatMap(({ rows }) => rows.map(({ id }) => id)));
  const problems = [
    ...lists.flatMap(({ rows }) => rows.filter(({ id }) => !tests.some(({ ids }) => ids.includes(id))).map(untested)),
    ...tests.flatMap(({ file, ids }) => ids.filter((id) => !known.has(id)).map((id) => stranger(file, id))),
    ...sources.flatMap(({ file, tagsInNames }) => tagsInNames.map((name) => misplaced(file, name))),
  ];
  const covered = lists.map((list) => ({
    ...list,
    rows: list.rows.map((row) => ({ ...row, tests: tests.filter(({ ids }) => ids.includes(row.id)) })),
  }));
  return { lists: covered, problems };
}

/** A list with the tests of its rows as a page. */
export function report({ title, file, rows }) {
  const shown = rows.filter(({ tests }) => tests.length > 0).length;
  const sections = Map.groupBy(rows, ({ where }) => where);
  const lines = [...sections].flatMap(([where, entries]) => [
    `## ${where[0].toUpperCase()}${where.slice(1)}`,
    '',
    ...entries.flatMap(rowLines),
    '',
  ]);
  return [
    `# ${title}`,
    '',
    `Written by \`tools/rows.mjs\` from \`${file}\` and the tags of the tests. ${shown} of ${rows.length} rows have a test.`,
    '',
    ...lines,
  ].join('\n');
}

const untested = ({ id, what }) => `No test shows ${id}: ${what}`;
const stranger = (file, id) => `${file} carries the tag ${id}, which is no row of a list in ${folder}`;
const misplaced = (file, name) => `${file}: a tag belongs into the options of its test, not into its name: ${name}…`;

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

async function readTests(root, file) {
  const source = await readFile(path.join(root, file), 'utf8');
  const groups = [...source.matchAll(groupName)];
  const tests = [...source.matchAll(taggedName)].map(({ index, 2: name, 3: tags }) => {
    const group = groups.findLast((one) => one.index < index)?.[2];
    return {
      file,
      ids: [...tags.matchAll(/'([^']+)'/g)].map(([, id]) => id),
      name: group ? `${group}: ${name}` : name,
    };
  });
  return { file, tests, tagsInNames: [...source.matchAll(tagInName)].map(([match]) => match) };
}
