import type { Chain } from '../chain.ts';
import type { ChainView } from '../history.ts';

/** gRPC codes that the chain's REST answers with, and the HTTP status of each. */
const statusOf = { 2: 500, 3: 400, 5: 404, 12: 501, 13: 500, 14: 503 } as const;
export type GrpcCode = keyof typeof statusOf;

/** A refusal as the chain words it; a bare one comes from the gateway itself and names no height. */
export class RestError extends Error {
  readonly status: number;
  readonly grpcCode: GrpcCode;
  readonly isBare: boolean;
  constructor(grpcCode: GrpcCode, message: string, isBare = false) {
    super(message);
    this.name = 'RestError';
    this.grpcCode = grpcCode;
    this.status = statusOf[grpcCode];
    this.isBare = isBare;
  }
}

/** Refuses a request from within a handler. */
export function fail(code: GrpcCode, message: string): never {
  throw new RestError(code, message);
}

/** Refuses a request before it reaches a handler: a parameter cannot be read. */
export function failUnread(message: string): never {
  throw new RestError(3, message, true);
}

/** Options of a ledger's REST for tests of its clients. */
export type RestOptions = Readonly<{
  /** Blocks and transactions below it answer as a pruned node's do. */
  lowestHeight?: number;
  /** Ids of actions whose price is an object, as older chains wrote it. */
  hasPriceObject?: (actionId: string) => boolean;
}>;

/** One request with its path parameters. */
export type ChainRestRequest = Readonly<{
  chain: Chain;
  /** The chain as of the height that the request names. */
  view: ChainView;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  options: RestOptions;
}>;

/** Paths with `{names}` for parameters, and what answers them, at once or once the log was read. */
export type Routes = Readonly<Record<string, (requested: ChainRestRequest) => unknown>>;

/** A parameter of the path as a signed 64-bit number; `inHandler` where the chain itself, not its gateway, reads it. */
export function completeParam(asked: ChainRestRequest, name: string): number {
  const text = asked.params[name] ?? '';
  const problem = integerProblem(text);
  if (problem) failUnread(`type mismatch, parameter: ${name}, error: ${problem}`);
  return Number(text);
}

/** Why Go refuses a text as a signed 64-bit number. */
export function integerProblem(text: string): string | undefined {
  const shown = JSON.stringify(text);
  if (!/^[+-]?\d+$/.test(text)) return `strconv.ParseInt: parsing ${shown}: invalid syntax`;
  const number = text.length > 40 ? 2n ** 64n : BigInt(text.replace('+', ''));
  return number === BigInt.asIntN(64, number) ? undefined : `strconv.ParseInt: parsing ${shown}: value out of range`;
}

/** A parameter of the query as an unsigned number; 0 when absent. */
export function unsignedQuery(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null) return 0;
  if (!/^\d{1,18}$/.test(text)) failUnread(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** A parameter of the query that is an enum: its name or its number; the first name when absent. */
export function enumQuery<const T extends string>(
  query: URLSearchParams,
  name: string,
  type: string,
  names: readonly [T, ...T[]],
): T {
  const text = query.get(name);
  if (text === null) return names[0];
  const match = /^\d+$/.test(text) ? names[Number(text)] : names.find((candidate) => candidate === text);
  return match ?? failUnread(`${text} is not a valid ${type}`);
}

/** A time with nine digits, as on the chain. */
export function nanoTime(time: string): string {
  return new Date(time).toISOString().replace('Z', '000000Z');
}

/** The chain's own words for a height whose state is gone. */
export function prunedState(chain: Pick<Chain, 'height'>, height: number): string {
  const version = 'version mismatch on immutable IAVL tree; version does not exist';
  const why = `Version has either been pruned, or is for a future block height (latest height: ${chain.height})`;
  return `failed to load state at height ${height}; ${version}. ${why}`;
}
