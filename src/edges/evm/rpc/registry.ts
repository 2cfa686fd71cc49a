import type { Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ChainBlocks } from '../chain/chain-blocks.ts';
import type { ChainConfig } from '../executor/state/genesis.ts';
import type { News } from '../chain/news.ts';
import type { Forks } from '../executor/forks.ts';
import type { StateReads } from '../workers/state-reads.ts';
import type { Namespace } from '../namespaces.ts';
import type { Catalogue, Described, Parameter } from './catalogue.ts';
import type { Connection } from './connection.ts';
import type { Filters } from './filters.ts';
import type { CallIntake } from './intake.ts';
import { RpcError, rpcCodes } from '../../json-rpc/rpc-error.ts';
import type { PendingPool } from '../chain/pending-pool.ts';

/** What methods answer from. */
export type MethodContext = Readonly<{
  config: ChainConfig;
  forks: Forks;
  blocks: ChainBlocks;
  reads: StateReads;
  pool: PendingPool;
  /** Whether the states of old blocks go; they stay where it is left out. */
  forgetsStates?: boolean;
  /** Most gas of a call. */
  gasCap: bigint;
  version: string;
  enabled: ReadonlySet<Namespace>;
  news: News;
  filters: Filters;
  /** Bounds the conditions of subscriptions. */
  conditions: CallIntake;
  /** Of what can be called here. */
  catalogue: () => Catalogue;
  /** Address of the client, by which it is bounded. */
  caller: string;
  /** Aborts once no client waits for the response any more. */
  signal: AbortSignal;
  /** That the request came on, where it is one that stays. */
  connection?: Connection | undefined;
}>;

/** The same, of all requests. */
export type ServedContext = Omit<MethodContext, 'caller' | 'signal' | 'connection'>;

type ValuesOf<P extends readonly Parameter[]> = {
  [K in keyof P]: P[K] extends { optional: true } ? Static<P[K]['schema']> | undefined : Static<P[K]['schema']>;
};

type Input<P extends readonly Parameter[]> = Omit<Described, 'params'> &
  Readonly<{ params: P; handler: (context: MethodContext, ...params: ValuesOf<P>) => unknown }>;

/** A method: its description, and its function. */
export type Method = Described &
  Readonly<{
    /** Checks the parameters and answers. Fails with an RpcError of `invalidParameters` where they do not fit. */
    call: (context: MethodContext, params: readonly unknown[]) => Promise<unknown>;
  }>;

/** The same without fields of nothing: many clients write what they leave out as null. In lists it has a meaning. */
function withoutNulls(input: unknown): unknown {
  if (Array.isArray(input)) return input.map((one) => withoutNulls(one));
  if (input === null || typeof input !== 'object') return input;
  const fields = Object.entries(input).filter(([, value]) => value !== null);
  return Object.fromEntries(fields.map(([name, value]) => [name, withoutNulls(value)]));
}

/**
 * Defines a method; dispatch, validation and the catalogue all come from this.
 *
 * @example
 * method({ name: 'eth_chainId', namespace: 'eth', summary: 'Chain id', params: [], result: quantity, handler: ... })
 */
export function method<const P extends readonly Parameter[]>(options: Input<P>): Method {
  const { handler, ...described } = options;
  const validators = options.params.map(({ schema }) => Compile(schema));
  const least = options.params.filter(({ optional }) => optional !== true).length;
  return {
    ...described,
    call: async (context, params) => {
      if (params.length > options.params.length)
        throw new RpcError(rpcCodes.invalidParameters, `too many arguments, want at most ${options.params.length}`);
      const values = options.params.map(({ name, optional }, index) => {
        const value = withoutNulls(params[index] ?? undefined);
        if (value === undefined && optional !== true && index < least)
          throw new RpcError(rpcCodes.invalidParameters, `missing value for required argument ${index} (${name})`);
        if (value !== undefined && validators[index]?.Check(value) !== true)
          throw new RpcError(rpcCodes.invalidParameters, `invalid argument ${index}: not a valid ${name}`);
        return value;
      });
      return await handler(context, ...(values as ValuesOf<P>));
    },
  };
}
