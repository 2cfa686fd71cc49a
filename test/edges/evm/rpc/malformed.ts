import type { Random } from '../../../../src/edges/local-network/random.ts';

/** Values in the forms that clients get wrong, and some that are right elsewhere. */
const odd = [
  null,
  true,
  -1,
  1.5,
  1e300,
  '',
  '0x',
  '0x0',
  '0x00',
  '0xg',
  '0x1',
  `0x${'f'.repeat(65)}`,
  `0x${'f'.repeat(64)}`,
  '0x7fffffffffffffff',
  'latest',
  'pending',
  'safe',
  'earliest',
  'newHeads',
  'später',
  '\u0000\ud800',
  `0x${'11'.repeat(20)}`,
  `0x${'11'.repeat(19)}`,
  `0x${'ab'.repeat(500)}`,
  [],
  {},
  [[]],
  [null],
  { blockHash: '0x1' },
  { blockNumber: '0x0', requireCanonical: 'yes' },
] as const;

const address = `0x${'11'.repeat(20)}`;
const hash = `0x${'22'.repeat(32)}`;
const call = { from: address, to: address, gas: '0x20000', gasPrice: '0xba43b7400', value: '0x0', nonce: '0x0' };
const filter = { fromBlock: '0x0', toBlock: 'latest', address: [address], topics: [hash, null, [hash]] };
const access = [{ address, storageKeys: [hash] }];
const signed = `0x02f86a84049${'4'.repeat(90)}`;

/** Parameters that fit, but for what is changed in them; CODE stands for bytes of chance. */
const fitting: readonly [Asked, ...Asked[]] = [
  ['eth_call', { ...call, data: 'CODE', accessList: access }, 'latest', { [address]: { code: 'CODE' } }, {}],
  ['eth_call', { data: 'CODE' }, 'pending'],
  ['eth_call', call, { blockNumber: '0x0' }, { [address]: { code: 'CODE', state: { [hash]: hash } } }, { time: '0x1' }],
  ['eth_estimateGas', { ...call, input: 'CODE', data: 'CODE' }, 'latest'],
  ['eth_createAccessList', { data: 'CODE', from: address }, 'latest'],
  ['eth_getBalance', address, 'latest'],
  ['eth_getTransactionCount', address, 'pending'],
  ['eth_getCode', address, { blockHash: hash }],
  ['eth_getStorageAt', address, '0x0', 'latest'],
  ['eth_getStorageValues', { [address]: ['0x0', hash] }, 'latest'],
  ['eth_getProof', address, ['0x0', hash], 'latest'],
  ['eth_getBlockByNumber', '0x0', true],
  ['eth_getBlockByHash', hash, false],
  ['eth_getBlockReceipts', 'latest'],
  ['eth_getTransactionByBlockNumberAndIndex', 'latest', '0x0'],
  ['eth_getTransactionReceipt', hash],
  ['eth_getLogs', filter],
  ['eth_newFilter', filter],
  ['eth_getFilterChanges', '0x1'],
  ['eth_subscribe', 'logs', filter],
  ['eth_unsubscribe', '0x1'],
  ['eth_feeHistory', '0x4', 'latest', [10, 50.5, 90]],
  ['eth_sendRawTransaction', signed],
  ['eth_sendRawTransaction', 'CODE'],
  [
    'eth_simulateV1',
    {
      blockStateCalls: [
        {
          blockOverrides: { number: '0x2', time: '0x7fffffff', gasLimit: '0x100000', baseFeePerGas: '0x1' },
          stateOverrides: { [address]: { balance: '0xffffffff', code: 'CODE', nonce: '0x1' } },
          calls: [call, { to: address, data: 'CODE' }],
        },
        { calls: [{ data: 'CODE' }] },
      ],
      validation: true,
      traceTransfers: true,
      returnFullTransactions: true,
    },
    'latest',
  ],
  ['debug_traceTransaction', hash, { tracer: 'callTracer' }],
  ['debug_traceBlockByNumber', 'latest', { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } }],
  ['debug_getRawBlock', 'latest'],
  ['txpool_contentFrom', address],
  ['web3_sha3', 'CODE'],
];

type Asked = readonly [method: string, ...params: readonly unknown[]];

/** A copy in which chance has put an odd value, or none, here and there. */
function spoilt(value: unknown, random: Random, rarely: number): unknown {
  const text = JSON.stringify(value ?? null).replaceAll('CODE', () => codeOf(random));
  return JSON.parse(text, (_, one: unknown) => {
    if (random.between(0, rarely) > 0) return one;
    return random.between(0, 4) === 0 ? undefined : random.pick(odd);
  });
}

const codeOf = (random: Random): string => `0x${random.bytes(random.between(0, 60)).toString('hex')}`;

/** A request of which parameters, fields or the whole are wrong; now and then one that only looks so. */
function request(random: Random, methods: readonly [string, ...string[]]): unknown {
  const id = random.between(1, 1_000_000);
  const kind = random.between(0, 11);
  if (kind === 0) return spoilt({ jsonrpc: '2.0', id, method: random.pick(methods), params: [] }, random, 2);
  if (kind === 1) {
    const params = Array.from({ length: random.between(0, 3) }, () => random.pick(odd));
    return { jsonrpc: '2.0', id, method: random.pick(methods), params };
  }
  const [method, ...params] = random.pick(fitting);
  const rarely = random.pick([6, 12, 24, 60]);
  return { jsonrpc: '2.0', id, method, params: params.map((one) => spoilt(one, random, rarely)) };
}

/**
 * The text of something that is no request, or of one that asks for what may not fit.
 *
 * @example malformed(randomOf('a/1'), ['eth_call'])
 */
export function malformed(random: Random, methods: readonly [string, ...string[]]): string {
  const kind = random.between(0, 29);
  if (kind === 0) return random.bytes(random.between(0, 80)).toString('latin1');
  if (kind === 1) return '['.repeat(random.between(1, 20_000));
  if (kind === 2) return JSON.stringify(Array.from({ length: random.between(0, 5) }, () => request(random, methods)));
  const text = JSON.stringify(request(random, methods)) || 'undefined';
  if (kind === 3) return text.slice(0, random.between(0, text.length - 1));
  if (kind > 5) return text;
  const at = random.between(0, text.length - 1);
  return text.slice(0, at) + random.pick(['"', '{', ']', ',', '\u0000', '9e999', 'é']) + text.slice(at + 1);
}
