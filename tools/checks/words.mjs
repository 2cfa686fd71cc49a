import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../boot/paths.mjs';
import { outputOf } from './steps.mjs';

/** Words that no name of ours is made of, and what stands instead. */
const unwanted = new Map(
  Object.entries({
    'report, notify': ['tell', 'tells', 'told', 'say', 'says', 'said'],
    receive: ['hear', 'hears', 'heard'],
    'request, query': ['ask', 'asks', 'asked', 'asking'],
    'input, options, values': ['given'],
    'match, result, hit': ['found'],
    'start, open, resume': ['begin', 'begins', 'began', 'begun'],
    'position, location': ['place', 'places'],
    'state, status': ['standing'],
    repair: ['heal', 'mend', 'mended'],
    'the actor': ['whoever', 'everybody', 'somebody', 'nobody'],
  }).flatMap(([instead, words]) => words.map((word) => [word, instead])),
);

/** Names that a wire, a library or a standard has chosen. */
const exceptions = new Set(['notFound', 'isNotFound']);

const DECLARED = /\b(?:const|let|function\*?|class|type|interface)\s+([A-Za-z_$][\w$]*)/g;
const EXPORTED_TYPE = /^export (?:declare |abstract )*(?:class|type|interface)\s+(\w+)/gm;

/** Names in `src` made of unwanted words, and exported types of one name; generated files aside. */
export async function unwantedNames() {
  const listed = (await outputOf('git', ['ls-files', 'src'])).trim().split('\n');
  const files = listed.filter((file) => file.endsWith('.ts') && !file.includes('/gen/'));
  const sources = await Promise.all(
    files.map(async (file) => [file, await readFile(path.join(root, file), 'utf8').catch(() => '')]),
  );
  const problems = [...sources.flatMap(([file, text]) => oddNames(file, text)), ...repeatedTypes(sources)];
  return problems.join('\n') || undefined;
}

function oddNames(file, text) {
  const code = text.replace(/^\s*(?:\*|\/\*|\/\/).*$/gm, '');
  return [...new Set([...code.matchAll(DECLARED)].map(([, name]) => name))]
    .filter((name) => !exceptions.has(name))
    .flatMap((name) => {
      const word = (name.match(/[A-Z]?[a-z]+/g) ?? []).map((part) => part.toLowerCase()).find((w) => unwanted.has(w));
      return word === undefined ? [] : [`${file}: ${name} is made of "${word}"; use ${unwanted.get(word)}`];
    });
}

function repeatedTypes(sources) {
  const homes = new Map();
  for (const [file, text] of sources)
    for (const [, name] of text.matchAll(EXPORTED_TYPE)) homes.set(name, [...(homes.get(name) ?? []), file]);
  return [...homes]
    .filter(([, files]) => files.length > 1)
    .map(([name, files]) => `The type ${name} is exported by ${files.length} files: ${files.join(', ')}`);
}
