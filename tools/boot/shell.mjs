import { environmentOf } from './paths.mjs';

/**
 * The line by which a shell becomes a program: its arguments follow, and nothing is left of the shell. The pipe of a
 * program around it is not passed on.
 */
export function shellCommand(node, args) {
  const changed = Object.entries(environmentOf(node)).filter(([name, value]) => process.env[name] !== value);
  const settings = changed.map(([name, value]) => `${name}=${quoted(value)}`);
  return `${['exec env -u ANNALS_LIFELINE_FD', ...settings, ...[node, ...args].map(quoted)].join(' ')} "$@"\n`;
}

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
