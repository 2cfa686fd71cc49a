import { keccak_256 } from '@noble/hashes/sha3.js';
import { parseAbi } from 'micro-eth-signer/abi.js';
import { actionAbi, nodeAbi } from './abi.ts';

type Item = ReturnType<typeof parseAbi>[number];
type Inputs = NonNullable<Item['inputs']>;

/**
 * A function or an event as what reads its bytes needs it: the first four bytes of a call, or the first topic of a log,
 * as hex; `contract` is empty for what any token has; `outputs` are of a function that changes nothing.
 */
export type SignedItem = Readonly<{
  selector: string;
  contract: string;
  name: string;
  inputs: Inputs;
  outputs?: Inputs;
}>;

const ofTokens = [
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function transferFrom(address from, address to, uint256 value) returns (bool)',
  'function name() view returns (string name)',
  'function symbol() view returns (string symbol)',
  'function decimals() view returns (uint8 decimals)',
  'function totalSupply() view returns (uint256 supply)',
  'function balanceOf(address owner) view returns (uint256 balance)',
  'function allowance(address owner, address spender) view returns (uint256 value)',
];

/** Every function and event of the system contracts, and those of tokens. */
export function signedItems(): readonly SignedItem[] {
  const contracts = { action: actionAbi, supernode: nodeAbi, '': ofTokens };
  return Object.entries(contracts).flatMap(([contract, abi]) =>
    [...parseAbi([...abi])].flatMap((item): SignedItem[] => {
      const { type, name = '', inputs = [], outputs = [], stateMutability } = item;
      const hash = `0x${Buffer.from(keccak_256(Buffer.from(`${name}${typeOf(inputs)}`))).toString('hex')}`;
      const selector = type === 'event' ? hash : hash.slice(0, 10);
      return [{ selector, contract, name, inputs, ...(stateMutability === 'view' ? { outputs } : {}) }];
    }),
  );
}

function typeOf(parts: Inputs): string {
  const types = [...parts].map(({ type, components }) =>
    type.startsWith('tuple') ? typeOf(components ?? []) + type.slice('tuple'.length) : type,
  );
  return `(${types.join(',')})`;
}
