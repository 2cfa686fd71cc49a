import { methods } from '../../../../src/edges/evm/methods/all.ts';
import type { Random } from '../../../../src/edges/local-network/random.ts';

const names = methods.map(({ name }) => name);
const oddTexts = [
  '',
  '0x',
  '0x0',
  '0xzz',
  '0x1',
  'latest',
  'pending',
  'newHeads',
  'logs',
  `0x${'ff'.repeat(20)}`,
] as const;
const moreTexts = [`0x${'00'.repeat(32)}`, `0x${'ff'.repeat(33)}`, '\u0000', '💥', 'x'.repeat(70_000), '-1'] as const;
const numbers = [0, -1, 1.5, 1e308, 2 ** 53, 3] as const;
const keys = [
  'fromBlock',
  'toBlock',
  'address',
  'topics',
  'to',
  'data',
  'gas',
  'value',
  'blockHash',
  '__proto__',
] as const;

/** Any JSON value, shallow. */
function oddValue(random: Random, depth = 0): unknown {
  const kind = random.between(0, depth > 3 ? 3 : 6);
  if (kind === 0) return random.pick(oddTexts);
  if (kind === 1) return random.pick(moreTexts);
  if (kind === 2) return random.pick(numbers);
  if (kind === 3) return random.pick([null, true, false]);
  const values = Array.from({ length: random.between(0, 4) }, () => oddValue(random, depth + 1));
  if (kind === 4) return values;
  return Object.fromEntries(values.map((value) => [random.pick(keys), value]));
}

function oddRequest(random: Random): unknown {
  const method = names[random.between(0, names.length - 1)] ?? 'eth_chainId';
  const count = random.between(0, 5);
  const params = Array.from({ length: count }, () => oddValue(random));
  const request: Record<string, unknown> = { jsonrpc: '2.0', id: random.between(0, 9), method, params };
  const spoiled = random.pick(['jsonrpc', 'id', 'method', 'params', 'nothing', 'nothing', 'nothing', 'gone']);
  if (spoiled === 'gone') delete request[random.pick(['jsonrpc', 'id', 'method', 'params'])];
  else if (spoiled !== 'nothing') request[spoiled] = oddValue(random);
  return request;
}

/** Text that is no good request, or hardly one; the same for the same random values. */
export function malformedText(random: Random): string {
  const kind = random.between(0, 9);
  if (kind === 0) return random.bytes(random.between(0, 200)).toString('utf8');
  if (kind === 1) return '['.repeat(random.between(1, 20_000));
  if (kind === 2) return JSON.stringify(Array.from({ length: random.between(0, 6) }, () => oddRequest(random)));
  const text = JSON.stringify(oddRequest(random));
  return kind === 3 ? text.slice(0, random.between(0, text.length)) : text;
}
