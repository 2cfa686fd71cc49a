import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { AppError } from '../../commands/errors.ts';

/** Variable of the environment that each key of a node's configuration file stands for. */
const variables = [
  ['supernode', 'port', 'GRPC_PORT'],
  ['supernode', 'gateway_port', 'NODE_HTTP_PORT'],
  ['supernode', 'host', 'HOST'],
  ['p2p', 'port', 'P2P_PORT'],
] as const;

/**
 * What a node's configuration file says, as variables of the environment; nothing without a file.
 *
 * Other keys of the real network's file are left alone. Fails with `INVALID_ARGUMENT` where the file cannot be read.
 */
export function configuredIn(file: string | undefined): Readonly<Record<string, string>> {
  if (!file) return {};
  const content = contentOf(file);
  return Object.fromEntries(
    variables.flatMap(([section, key, variable]) => {
      const value = memberOf(memberOf(content, section), key);
      return typeof value === 'string' || typeof value === 'number' ? [[variable, String(value)]] : [];
    }),
  );
}

function contentOf(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `NODE_CONFIG=${file} cannot be read as YAML: ${String(caught)}`, {
      cause: caught,
    });
  }
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
