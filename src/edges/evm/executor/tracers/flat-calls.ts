import type { CallFrame } from '../call-frames.ts';
import type { Hex } from '../outcome.ts';
import { parityText } from './error-texts.ts';
import { isPrecompile } from './tracer.ts';

/** Where a transaction lies; absent of a call that is in no block. */
export type FlatPosition = Readonly<{
  blockHash: Hex;
  blockNumber: number;
  transactionHash: Hex;
  transactionPosition: number;
}>;

/** One call of a transaction, as OpenEthereum shows it. */
export type FlatCall = Readonly<{
  action: Readonly<Record<string, string | undefined>>;
  error?: string;
  result?: Readonly<Record<string, string | undefined>> | null;
  subtraces: number;
  traceAddress: readonly number[];
  type: 'call' | 'create' | 'suicide';
}> &
  Partial<FlatPosition>;

/** Options of go-ethereum's `flatCallTracer`. */
export type FlatOptions = Readonly<{
  convertParityErrors?: boolean | undefined;
  includePrecompiles?: boolean | undefined;
}>;

/** The calls of a transaction one behind the other, each before those within it; calls of precompiles are left out. */
export function flatCalls(
  frame: CallFrame,
  options: FlatOptions,
  position?: FlatPosition,
  traceAddress: readonly number[] = [],
): readonly FlatCall[] {
  const isShown = ({ type, to }: CallFrame): boolean =>
    options.includePrecompiles === true || !['CALL', 'STATICCALL'].includes(type) || !isPrecompile(to);
  const inner = (frame.calls ?? []).filter(isShown);
  const { error } = frame;
  const shown = error !== undefined && options.convertParityErrors === true ? parityText(error) : error;
  return [
    {
      ...partsOf(frame),
      ...(shown !== undefined && { error: shown }),
      subtraces: inner.length,
      traceAddress,
      ...position,
    },
    ...inner.flatMap((one, index) => flatCalls(one, options, position, [...traceAddress, index])),
  ];
}

function partsOf(frame: CallFrame): Pick<FlatCall, 'action' | 'result' | 'type'> {
  const { type, from, to, gas, gasUsed, input, output = '0x', value = '0x0', error } = frame;
  if (type === 'SELFDESTRUCT')
    return { action: { address: from, balance: value, refundAddress: to }, result: null, type: 'suicide' };
  // What a revert returns is the reason; any other failure has no result.
  const hasResult = error === undefined || error === 'execution reverted';
  if (type.startsWith('CREATE')) {
    const action = { creationMethod: type.toLowerCase(), from, gas, init: input, value };
    return { action, ...(hasResult && { result: { address: to, code: output, gasUsed } }), type: 'create' };
  }
  const action = { callType: type.toLowerCase(), from, gas, input, to, value };
  return { action, ...(hasResult && { result: { gasUsed, output } }), type: 'call' };
}
