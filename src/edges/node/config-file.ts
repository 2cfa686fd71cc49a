import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { AppError } from '../../kit/errors.ts';
import { host, port, Unfit } from '../../kit/setting-forms.ts';

/** The variable of the environment for each key of a node's configuration file, and what it accepts. */
const variables = [
  { section: 'supernode', key: 'port', variable: 'GRPC_PORT', takes: port },
  { section: 'supernode', key: 'gateway_port', variable: 'NODE_HTTP_PORT', takes: port },
  { section: 'supernode', key: 'host', variable: 'HOST', takes: host },
  { section: 'p2p', key: 'port', variable: 'P2P_PORT', takes: port },
] as const;

/**
 * The settings of a node's configuration file, as variables of the environment; none without a file.
 *
 * Other keys of the real network's file are left alone, and a key without a value counts as left out. Fails with
 * `INVALID_ARGUMENT`, in the words of the file, where it cannot be read or one of these keys has a value that it does
 * not accept.
 */
export function configuredIn(file: string | undefined): Readonly<Record<string, string>> {
  if (!file) return {};
  const content = contentOf(file);
  const problems: string[] = [];
  const input = variables.flatMap(({ section, key, variable, takes }) => {
    try {
      const value = valueOf(memberOf(memberOf(content, section), key));
      if (value === undefined) return [];
      takes(value);
      return [[variable, value]];
    } catch (caught) {
      if (!(caught instanceof Unfit)) throw caught;
      problems.push(`${section}.${key} takes ${caught.message}`);
      return [];
    }
  });
  if (problems.length > 0)
    throw new AppError('INVALID_ARGUMENT', `NODE_CONFIG=${file} cannot be used: ${[...new Set(problems)].join('; ')}`);
  return Object.fromEntries(input);
}

function contentOf(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `NODE_CONFIG=${file} cannot be read as YAML: ${(caught as Error).message}`, {
      cause: caught,
    });
  }
}

/** A member of a section; nothing where there is no such section, or an empty one. */
function memberOf(value: unknown, key: string): unknown {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new Unfit('a place in a section of keys and values');
  return (value as Record<string, unknown>)[key];
}

function valueOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') throw new Unfit('one value');
  return String(value);
}
