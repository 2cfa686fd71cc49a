/** A request that no recording holds, and what the answer must hold. */
export type FurtherCase = Readonly<{ name: string; method: string; params: readonly unknown[]; answer: object }>;

/** Of the test chain: an account with coins, and a contract that returns 0xffee for 0xff01. */
const rich = '0x0c2c51a0990aee1d73c1228de158688341557508';
const contract = '0x17e7eedce4ac02ef114a7ed9fe6e2f33feba1667';
const [one, other, elsewhere] = ['c0', 'c1', 'c2'].map((start) => `0x${start}${'00'.repeat(19)}`) as [
  string,
  ...string[],
];
const numbered = (last: string): string => `0x${last.padStart(40, '0')}`;
const [ecrecover, sha256, identity] = [numbered('1'), numbered('2'), numbered('4')];

/** Input of ecrecover, and the word that it answers. */
const signed = `0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8${'1c'.padStart(64, '0')}b7cf302145348387b9e69fde82d8e634a0f8761e78da3bfa059efced97cbed0d2a66b69167cafe0ccfc726aec6ee393fea3cf0e4f3f9c394705e0f56d9bfe1c9`;
const signer = `0x${'b11cad98ad3f8114e0b3a1f6e7228bc8424df48a'.padStart(64, '0')}`;
/** PUSH1 42, and that returned as a word. */
const fortyTwo = '0x602a60005260206000f3';
const word = (value: string): string => `0x${value.padStart(64, '0')}`;
const tooLong = `0x${'00'.repeat(49_153)}`;
const blob = `0x01${'00'.repeat(31)}`;

const called = (name: string, params: readonly unknown[], answer: object): FurtherCase => ({
  name: `a call: ${name}`,
  method: 'eth_call',
  params,
  answer,
});
const simulated = (name: string, blockStateCalls: readonly unknown[], answer: object, options = {}): FurtherCase => ({
  name: `a simulation: ${name}`,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls, ...options }, 'latest'],
  answer,
});
const failed = (code: number): object => ({ error: { code } });
const estimated = (name: string, call: object, allowed: number): FurtherCase => ({
  name: `an estimate: ${name}`,
  method: 'eth_estimateGas',
  params: [call],
  answer: { error: { code: -32_000, message: `gas required exceeds allowance (${allowed})` } },
});
const moved = (from: string, to: string, name = 'movePrecompileToAddress'): object => ({ [from]: { [name]: to } });
const returned = (...calls: readonly string[]): object => ({
  result: calls.map((returnData) => ({ calls: [{ returnData }] })),
});

const returnedIn = (block: number, returnData: string): object => ({
  result: [...Array.from({ length: block }, () => ({ calls: [] })), { calls: [{ returnData }] }],
});
/** Code that returns the balance of an account, for every fork. */
const balanceOf = (address: string): string => `0x73${address.slice(2)}3160005260206000f3`;

const withdrawal = { index: '0x0', validatorIndex: '0x0', address: one };

const simulations: readonly FurtherCase[] = [
  simulated(
    'a withdrawal of more than 64 bits',
    [{ blockOverrides: { withdrawals: [{ ...withdrawal, amount: `0x1${'00'.repeat(8)}` }] } }],
    failed(-32_602),
  ),
  simulated(
    'the field that moves a built-in contract may begin with a capital',
    [{ stateOverrides: moved(ecrecover, one, 'MovePrecompileToAddress'), calls: [{ to: one, input: signed }] }],
    returned(signer),
  ),
  simulated(
    'of two moves to one place that of the higher address stays',
    [
      {
        stateOverrides: { ...moved(identity, one), ...moved(ecrecover, one), ...moved(sha256, one) },
        calls: [{ to: one, input: signed }],
      },
    ],
    returned(signed),
  ),
  simulated(
    'a move lasts for one block',
    [
      { stateOverrides: moved(ecrecover, one), calls: [{ to: ecrecover, input: signed }] },
      { calls: [{ to: ecrecover, input: signed }] },
    ],
    returned('0x', signer),
  ),
  simulated(
    'the nonce after the last one of all is 0',
    [
      {
        stateOverrides: { [one]: { nonce: '0xffffffffffffffff' } },
        calls: [
          { from: one, to: other },
          { from: one, to: other },
          { from: one, to: other, nonce: '0x1' },
        ],
      },
    ],
    { result: [{ calls: [{ status: '0x1' }, { status: '0x1' }, { status: '0x1' }] }] },
  ),
  {
    ...simulated('a block of before the merge pays its coinbase', [], returnedIn(1, word('4563918244f40000'))),
    params: [
      {
        blockStateCalls: [
          { blockOverrides: { number: '0x2', feeRecipient: elsewhere } },
          { stateOverrides: { [one]: { code: balanceOf(elsewhere ?? '') } }, calls: [{ to: one }] },
        ],
      },
      '0x1',
    ],
  },
  simulated('a move onto itself', [{ stateOverrides: moved(ecrecover, ecrecover) }], failed(-38_022)),
  simulated('a move of what is no built-in contract', [{ stateOverrides: moved(one, one) }], failed(-32_000)),
  simulated(
    'a move to an account that is overridden',
    [{ stateOverrides: { ...moved(ecrecover, one), [one]: { balance: '0x1' } } }],
    failed(-32_000),
  ),
  simulated('code too long to begin with', [{ calls: [{ from: one, input: tooLong }] }], failed(-38_025)),
  simulated('a call for another chain', [{ calls: [{ to: one, chainId: '0x1' }] }], failed(-32_000)),
  simulated('a tip above the fee', [{ calls: [{ to: one, maxPriorityFeePerGas: '0x2' }] }], failed(-32_602)),
  simulated(
    'blobs that nobody can pay',
    [{ calls: [{ from: one, to: other, maxFeePerBlobGas: '0xa', blobVersionedHashes: [blob] }] }],
    failed(-38_014),
  ),
  simulated('blobs at no price', [{ calls: [{ from: one, to: other, blobVersionedHashes: [blob] }] }], {
    result: [{ blobGasUsed: '0x20000', calls: [{ status: '0x1' }] }],
  }),
  simulated(
    'a contract may send even where fees and nonces are checked',
    [
      {
        stateOverrides: { [one]: { code: '0x00', balance: '0xffffffffffffffff' } },
        calls: [{ from: one, to: other, gas: '0x5208', maxFeePerGas: '0x3b9aca00' }],
      },
    ],
    { result: [{ calls: [{ status: '0x1' }] }] },
    { validation: true },
  ),
  simulated(
    'null for what is left out',
    [{ calls: null, blockOverrides: null, stateOverrides: { [one]: { code: null } } }],
    { result: [{ calls: [] }] },
    { validation: null },
  ),
];

const calls: readonly FurtherCase[] = [
  called(
    'with a price of gas',
    [{ from: rich, to: contract, input: '0xff01', gas: '0x186a0', gasPrice: '0x77359400' }],
    {
      result: '0xffee',
    },
  ),
  called('in a block of before chain ids', [{ to: one }, 'earliest'], { result: '0x' }),
  called('of null for what is left out', [{ from: null, to: contract, input: null, data: '0xff01', gas: null }, null], {
    result: '0xffee',
  }),
  called('of a built-in contract that was moved', [{ to: one, input: signed }, 'latest', moved(ecrecover, one)], {
    result: signer,
  }),
  called(
    'of a built-in contract that has other code',
    [{ to: identity, input: '0x01' }, 'latest', { [identity]: { code: fortyTwo } }],
    { result: word('2a') },
  ),
  called('of the same built-in contract afterwards', [{ to: identity, input: '0x01' }], { result: '0x01' }),
  called('with blobs at no price', [{ to: contract, input: '0xff01', blobVersionedHashes: [blob] }], {
    result: '0xffee',
  }),
  called('for another chain', [{ to: contract, chainId: '0x1' }], failed(-32_000)),
  called('with two kinds of fees', [{ to: contract, gasPrice: '0x1', maxFeePerGas: '0x1' }], failed(-32_000)),
  called(
    'with two kinds of storage',
    [{ to: contract }, 'latest', { [contract]: { state: {}, stateDiff: {} } }],
    failed(-32_000),
  ),
  called('at a block by hash and number', [{ to: one }, { blockHash: word('1'), blockNumber: '0x1' }], failed(-32_602)),
  called('at the latest block as an object', [{ to: contract, input: '0xff01' }, { blockNumber: 'latest' }], {
    result: '0xffee',
  }),
  {
    name: 'an estimate with a price of gas',
    method: 'eth_estimateGas',
    params: [{ from: rich, to: one, gasPrice: '0x77359400' }],
    answer: { result: '0x5208' },
  },
  {
    name: 'an access list with a price of gas',
    method: 'eth_createAccessList',
    params: [{ from: rich, to: elsewhere, gasPrice: '0x77359400' }, 'latest'],
    answer: { result: { accessList: [], gasUsed: '0x5208' } },
  },
  called('with too little gas for anything', [{ to: one, gas: '0x1' }], {
    error: { code: -32_000, message: 'intrinsic gas too low: have 1, want 21000' },
  }),
  called('with data beside another input', [{ to: contract, data: '0xff01', input: '0xff02' }], failed(-32_000)),
  called('with data beside the same input', [{ to: contract, data: '0xFF01', input: '0xff01' }], { result: '0xffee' }),
  estimated('by an account without coins', { from: one, to: other, gasPrice: '0x77359400' }, 0),
  estimated('with too little gas for anything', { to: other, gas: '0x1' }, 1),
  estimated('of what uses up its gas', { data: '0x5b600056', gas: '0x186a0' }, 100_000),
  {
    name: 'an access list of a contract that is created',
    method: 'eth_createAccessList',
    params: [{ from: rich, data: '0x00' }, 'latest'],
    answer: { result: { accessList: [], gasUsed: '0xcf0e' } },
  },
  {
    name: 'a block with more extra data than a header takes',
    method: 'testing_buildBlockV1',
    params: [
      word('1'),
      {
        timestamp: '0x1',
        prevRandao: word('1'),
        suggestedFeeRecipient: one,
        withdrawals: [],
        parentBeaconBlockRoot: word('1'),
      },
      [],
      `0x${'11'.repeat(33)}`,
    ],
    answer: failed(-32_602),
  },
  {
    name: 'logs with null for what is left out',
    method: 'eth_getLogs',
    params: [{ fromBlock: '0x4', toBlock: '0x4', blockHash: null, address: null, topics: null }],
    answer: { result: [{ blockNumber: '0x4', logIndex: '0x0' }] },
  },
];

/** What the specification asks for, and no recording at hand shows. */
export const furtherCases: readonly FurtherCase[] = [...simulations, ...calls];

/** Simulations of one block with an account that is there and empty: never, until a call, to the end. */
export const emptyAccounts: readonly (readonly unknown[])[] = [
  [{ calls: [{ from: rich, to: other }] }],
  [{ stateOverrides: { [other ?? '']: { balance: '0x0' } }, calls: [{ from: rich, to: other }] }],
  [{ stateOverrides: { [one]: { balance: '0x0' } }, calls: [{ from: rich, to: other }] }],
];
