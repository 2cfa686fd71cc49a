import { RpcError } from '../../json-rpc/rpc-error.ts';

/** The parameters of one call by name; unchanged from a JSON body, as texts from an address. */
export type Parameters = Readonly<Record<string, unknown>>;

/** The parameters in an address: quoted texts, bytes as `0x…`, numbers and booleans bare. */
export function parametersInQuery(query: URLSearchParams): Parameters {
  return Object.fromEntries([...query].map(([name, value]) => [name, valueOf(name, value)]));
}

function valueOf(name: string, value: string): unknown {
  if (value.startsWith('0x')) return { hex: value.slice(2) };
  if (!value.startsWith('"')) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new RpcError(-32602, `error converting http params to arguments: ${name} is no quoted text`);
  }
}

/** A text; empty when absent. */
export function textIn(parameters: Parameters, name: string): string {
  const value = parameters[name] ?? '';
  if (typeof value === 'string') return value;
  throw new RpcError(-32602, `${name} is no text`);
}

/** An integer, as text or as a number; undefined when absent. */
export function completeIn(parameters: Parameters, name: string): number | undefined {
  const value = parameters[name];
  if (value === undefined || value === null || value === '') return undefined;
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : 'no number';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RpcError(-32602, `invalid 64-bit integer encoding ${JSON.stringify(text)}, expected string`);
}

/** Bytes: those of an address as `0x…` or quoted, those of a body in the encoding that the method has. */
export function bytesIn(parameters: Parameters, name: string, encoding: 'hex' | 'base64'): Uint8Array {
  const value = parameters[name] ?? '';
  const input = typeof value === 'string' ? { [encoding]: value } : value;
  if (typeof input === 'object') {
    if ('hex' in input && typeof input.hex === 'string' && /^([0-9a-fA-F]{2})*$/.test(input.hex))
      return Buffer.from(input.hex, 'hex');
    if ('base64' in input && typeof input.base64 === 'string') return base64Of(input.base64, name);
  }
  throw new RpcError(-32602, `${name} is not ${encoding}`);
}

function base64Of(text: string, name: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new RpcError(-32602, `${name} is not base64`);
  return bytes;
}
