import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../boot/paths.mjs';

const EXPORT = /^export (?:default |declare |async |abstract )*(?:const|let|function\*?|class|type|interface)\s+(\w+)/;

/** A type that only names what stands right above it: `export type Role = (typeof roles)[number];`. */
const DERIVED = /^export type \w+ = .*\btypeof\b/;

/** Exports without a docstring right above them; generated files, installed packages and derived types aside. */
export async function missingDocstrings(folder) {
  const files = await readdir(path.join(root, folder), { recursive: true });
  const sources = files.filter((file) => file.endsWith('.ts') && !/(^|\/)(gen|node_modules)\//.test(file));
  const missing = await Promise.all(sources.map((file) => missingIn(path.join(folder, file))));
  return missing.flat().join('\n') || undefined;
}

async function missingIn(file) {
  const lines = (await readFile(path.join(root, file), 'utf8')).split('\n');
  return lines.flatMap((line, index) => {
    const name = EXPORT.exec(line)?.[1];
    if (!name || DERIVED.test(line) || lines[index - 1]?.trimEnd().endsWith('*/') || isOverload(lines, index, name))
      return [];
    return [`${file}:${index + 1}: ${name} has no docstring`];
  });
}

/** Further signatures of an overloaded function share the docstring of the first. */
const isOverload = (lines, index, name) =>
  lines.slice(0, index).some((line) => EXPORT.exec(line)?.[1] === name && line.includes('function'));
