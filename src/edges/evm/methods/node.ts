import { Type } from 'typebox';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { quantity as hex } from '../executor/block-forms.ts';
import { storedStates } from '../executor/state/forget-states.ts';
import { chainIdOf } from '../executor/state/genesis.ts';
import { bytes, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { forkConfiguration } from './fork-configuration.ts';

async function capabilities({ blocks, forgetsStates }: MethodContext): Promise<unknown> {
  const { number, hash: headHash } = await blocks.head();
  const all = { disabled: false, oldestBlock: '0x0' };
  const oldest = forgetsStates === true ? number - BigInt(storedStates.last) + 1n : 0n;
  const states = { ...all, oldestBlock: hex(oldest > 0n ? oldest : 0n) };
  return {
    head: { number: hex(number), hash: headHash },
    state: states,
    tx: all,
    logs: all,
    receipts: all,
    blocks: all,
    stateproofs: states,
  };
}

/** Methods that describe the chain and this program. */
export const nodeMethods: readonly Method[] = [
  method({
    name: 'eth_chainId',
    namespace: 'eth',
    summary: 'Id of the chain',
    params: [],
    result: quantity,
    examples: [{ params: [], result: '0x494c1a9' }],
    handler: ({ config }) => hex(chainIdOf(config)),
  }),
  method({
    name: 'eth_syncing',
    namespace: 'eth',
    summary: 'False: there is nobody to catch up with',
    params: [],
    result: Type.Boolean(),
    examples: [{ params: [], result: false }],
    handler: () => false,
  }),
  method({
    name: 'eth_accounts',
    namespace: 'eth',
    summary: 'Accounts whose keys are here: none',
    params: [],
    result: Type.Array(Type.String()),
    examples: [{ params: [], result: [] }],
    handler: () => [],
  }),
  method({
    name: 'eth_config',
    namespace: 'eth',
    summary: 'The rules in force, and those to come',
    params: [],
    result: Type.Object({ current: Type.Object({ chainId: quantity }) }),
    handler: forkConfiguration,
  }),
  method({
    name: 'eth_capabilities',
    namespace: 'eth',
    summary: 'From which block on what can be read',
    params: [],
    result: Type.Object({ head: Type.Object({ number: quantity, hash }) }),
    handler: capabilities,
  }),
  method({
    name: 'net_version',
    namespace: 'net',
    summary: 'Id of the network, in decimal',
    params: [],
    result: Type.String(),
    examples: [{ params: [], result: '76857769' }],
    handler: ({ config }) => chainIdOf(config).toString(),
  }),
  method({
    name: 'net_listening',
    namespace: 'net',
    summary: 'True: requests are answered',
    params: [],
    result: Type.Boolean(),
    examples: [{ params: [], result: true }],
    handler: () => true,
  }),
  method({
    name: 'net_peerCount',
    namespace: 'net',
    summary: 'Peers of this chain: none',
    params: [],
    result: quantity,
    examples: [{ params: [], result: '0x0' }],
    handler: () => '0x0',
  }),
  method({
    name: 'web3_clientVersion',
    namespace: 'web3',
    summary: 'Name and version of this program',
    params: [],
    result: Type.String(),
    handler: ({ version }) => `annals/v${version}`,
  }),
  method({
    name: 'web3_sha3',
    namespace: 'web3',
    summary: 'Keccak-256 of bytes',
    params: [{ name: 'bytes', schema: bytes }],
    result: hash,
    examples: [{ params: ['0x616263'], result: '0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45' }],
    handler: (_, input) => bytesToHex(keccak_256(hexToBytes(input))),
  }),
];
