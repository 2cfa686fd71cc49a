import { keccak_256 } from '@noble/hashes/sha3.js';
import { createContract, events, parseAbi } from 'micro-eth-signer/abi.js';

const commitment =
  '(string commitmentType, uint8 hashAlgo, uint32 chunkSize, uint64 totalSize, uint32 numChunks, bytes root, uint32[] challengeIndices)';
const actionInfo =
  '(string actionId, address creator, uint8 actionType, uint8 state, string metadata, uint256 price, int64 expirationTime, int64 blockHeight, address[] superNodes)';
const nodeInfo =
  '(string validatorAddress, string supernodeAccount, uint8 currentState, int64 stateHeight, string ipAddress, string p2pPort, string note, uint64 evidenceCount)';
const chunkProof = '(uint32 chunkIndex, bytes leafHash, bytes[] pathHashes, bool[] pathDirections)';

/** The contract of actions, as the real network has it. */
export const actionAbi = [
  `function requestCascade(string dataHash, string fileName, uint64 rqIdsIc, string signatures, uint256 price, int64 expirationTime, uint64 fileSizeKbs, ${commitment} commitment) returns (string actionId)`,
  'function requestSense(string dataHash, uint64 ddAndFingerprintsIc, uint256 price, int64 expirationTime, uint64 fileSizeKbs) returns (string actionId)',
  `function finalizeCascade(string actionId, string[] rqIdsIds, ${chunkProof}[] chunkProofs) returns (bool success)`,
  'function finalizeSense(string actionId, string[] ddAndFingerprintsIds, string signatures) returns (bool success)',
  'function approveAction(string actionId) returns (bool success)',
  `function getAction(string actionId) view returns (${actionInfo} action)`,
  'function getActionFee(uint64 dataSizeKbs) view returns (uint256 baseFee, uint256 perKbFee, uint256 totalFee)',
  `function getActionsByCreator(address creator, uint64 offset, uint64 limit) view returns (${actionInfo}[] actions, uint64 total)`,
  `function getActionsByState(uint8 state, uint64 offset, uint64 limit) view returns (${actionInfo}[] actions, uint64 total)`,
  `function getActionsBySuperNode(address superNode, uint64 offset, uint64 limit) view returns (${actionInfo}[] actions, uint64 total)`,
  'function getParams() view returns (uint256 baseActionFee, uint256 feePerKbyte, uint64 maxActionsPerBlock, uint64 minSuperNodes, int64 expirationDuration, string superNodeFeeShare, string foundationFeeShare, uint32 svcChallengeCount, uint32 svcMinChunksForChallenge)',
  'event ActionRequested(string indexed actionId, address indexed creator, uint8 actionType, uint256 price)',
  'event ActionFinalized(string indexed actionId, address indexed superNode, uint8 newState)',
  'event ActionApproved(string indexed actionId, address indexed creator)',
] as const;

/** The contract of SuperNodes, as the real network has it. */
export const nodeAbi = [
  'function registerSupernode(string validatorAddress, string ipAddress, string supernodeAccount, string p2pPort) returns (bool success)',
  'function deregisterSupernode(string validatorAddress) returns (bool success)',
  'function startSupernode(string validatorAddress) returns (bool success)',
  'function stopSupernode(string validatorAddress, string reason) returns (bool success)',
  'function updateSupernode(string validatorAddress, string ipAddress, string note, string supernodeAccount, string p2pPort) returns (bool success)',
  `function getSuperNode(string validatorAddress) view returns (${nodeInfo} node)`,
  `function getSuperNodeByAccount(string supernodeAccount) view returns (${nodeInfo} node)`,
  `function listSuperNodes(uint64 offset, uint64 limit) view returns (${nodeInfo}[] nodes, uint64 total)`,
  `function getTopSuperNodesForBlock(int32 blockHeight, int32 limit, uint8 state) view returns (${nodeInfo}[] nodes)`,
  'function getParams() view returns (uint256 minimumStake, uint64 reportingThreshold, uint64 slashingThreshold, string minSupernodeVersion, uint64 minCpuCores, uint64 minMemGb, uint64 minStorageGb)',
  'event SupernodeRegistered(string indexed validatorAddress, address indexed creator, uint8 newState)',
  'event SupernodeDeregistered(string indexed validatorAddress, address indexed creator, uint8 oldState)',
  'event SupernodeStateChanged(string indexed validatorAddress, address indexed creator, uint8 newState)',
] as const;

type Item = ReturnType<typeof parseAbi>[number];
type Parts = NonNullable<Item['inputs']>;

/** A function of a contract as the contract itself sees it. */
export type Interface = Readonly<{
  name: string;
  isView: boolean;
  /** Arguments by name; a single one is bare. Fails for bytes that are none. */
  decode: (input: Uint8Array) => unknown;
  /** A result, or several by name. */
  encode: (result: unknown) => Uint8Array;
}>;

/** An event as the machine logs it: topics and data. */
export type EncodedEvent = Readonly<{ topics: readonly `0x${string}`[]; data: Uint8Array }>;

/** An interface for its implementation: functions by selector, and its events. */
export function answering(abi: readonly string[]): Readonly<{
  functions: ReadonlyMap<string, Interface>;
  event: (name: string, values: Readonly<Record<string, unknown>>) => EncodedEvent;
}> {
  const items = parseAbi([...abi]);
  const named = items.filter((item) => item.type === 'function');
  // The library speaks for callers; with both sides exchanged it answers them.
  const sides = createContract(
    named.map(({ inputs = [], outputs = [], ...item }): Item => ({ ...item, inputs: outputs, outputs: inputs })),
  );
  const functions = new Map(
    named.map((item): [string, Interface] => {
      const name = item.name ?? '';
      const side = sides[name];
      return [
        selectorOf(item),
        {
          name,
          isView: item.stateMutability === 'view',
          decode: (input) => side?.decodeOutput(input),
          encode: (result) => side?.encodeInput(result).slice(4) ?? new Uint8Array(),
        },
      ];
    }),
  );
  return { functions, event: encodeEvent(items) };
}

/** The first four bytes of a call, as hex digits. */
function selectorOf({ name = '', inputs = [] }: Item): string {
  return Buffer.from(keccak_256(Buffer.from(`${name}${tupleOf(inputs)}`)).subarray(0, 4)).toString('hex');
}

function tupleOf(parts: Parts): string {
  const types = [...parts].map(({ type, components }) =>
    type.startsWith('tuple') ? tupleOf(components ?? []) + type.slice('tuple'.length) : type,
  );
  return `(${types.join(',')})`;
}

function encodeEvent(items: ReturnType<typeof parseAbi>) {
  const topics = events(items);
  return (name: string, values: Readonly<Record<string, unknown>>): EncodedEvent => {
    const inputs = [...(items.find((item) => item.type === 'event' && item.name === name)?.inputs ?? [])];
    const bare = inputs.filter(({ indexed }) => indexed !== true);
    const data = createContract([{ type: 'function', name, inputs: bare, outputs: [] }] as unknown as typeof items)[
      name
    ];
    const options = Object.fromEntries(
      inputs.map(({ name: key = '', indexed }) => [key, indexed ? values[key] : null]),
    );
    const [single] = bare;
    const plain = Object.fromEntries(bare.map(({ name: key = '' }) => [key, values[key]]));
    const reported = bare.length === 1 ? values[single?.name ?? ''] : plain;
    return {
      topics: (topics[name]?.topics(options) ?? []).filter((topic) => topic !== null) as `0x${string}`[],
      data: bare.length === 0 ? new Uint8Array() : (data?.encodeInput(reported).slice(4) ?? new Uint8Array()),
    };
  };
}

/** An interface for its callers: the bytes of a call by the function's name. */
export function calling(abi: readonly string[]): (name: string, given: unknown) => Uint8Array {
  const sides = createContract(parseAbi([...abi]));
  return (name, given) => sides[name]?.encodeInput(given) ?? new Uint8Array();
}

const reverted = createContract(parseAbi(['function Error(string message)']));

/** The return data of a call that was reverted with words. */
export function encodeRevert(message: string): Uint8Array {
  return reverted['Error']?.encodeInput(message) ?? new Uint8Array();
}
