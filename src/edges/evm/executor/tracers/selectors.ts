import type { Message } from '@ethereumjs/evm';
import { bytesToHex } from '@ethereumjs/util';
import { isPrecompile, type Tracer } from './tracer.ts';

const selectorBytes = 4;

/** Counts the selectors that calls name with the size of what follows, as go-ethereum's `4byteTracer` does. */
export function countSelectors(): Tracer<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  return {
    start: (message: Message) => {
      const { to, data } = message;
      if (!to || !(data instanceof Uint8Array) || data.length < selectorBytes) return;
      if (isPrecompile(message.codeAddress.toString())) return;
      const name = `${bytesToHex(data.subarray(0, selectorBytes))}-${data.length - selectorBytes}`;
      counts[name] = (counts[name] ?? 0) + 1;
    },
    report: () => counts,
  };
}
