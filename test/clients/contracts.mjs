/**
 * Registers an action with viem through the contract of actions, reads it back, and tries to approve it as a stranger.
 *
 *   node contracts.mjs <http address> <chain id> <private key> <data hash> <signatures> <counter> <size in KiB> <list>
 *
 * Once the registration is mined, a list of actions of the REST API is requested that includes its block.
 */
import {
  createPublicClient,
  createWalletClient,
  decodeEventLog,
  defineChain,
  http,
  keccak256,
  parseAbi,
  stringToBytes,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const [url, chainId, key, dataHash, signatures, counter, kib, list] = process.argv.slice(2);
const chain = defineChain({
  id: Number(chainId),
  name: 'local network',
  nativeCurrency: { name: 'Lume', symbol: 'LUME', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
const address = '0x0000000000000000000000000000000000000901';
const abi = parseAbi([
  'struct Commitment { string commitmentType; uint8 hashAlgo; uint32 chunkSize; uint64 totalSize; uint32 numChunks; bytes root; uint32[] challengeIndices; }',
  'struct ActionInfo { string actionId; address creator; uint8 actionType; uint8 state; string metadata; uint256 price; int64 expirationTime; int64 blockHeight; address[] superNodes; }',
  'function requestCascade(string dataHash, string fileName, uint64 rqIdsIc, string signatures, uint256 price, int64 expirationTime, uint64 fileSizeKbs, Commitment commitment) returns (string actionId)',
  'function approveAction(string actionId) returns (bool success)',
  'function getAction(string actionId) view returns (ActionInfo action)',
  'function getActionFee(uint64 dataSizeKbs) view returns (uint256 baseFee, uint256 perKbFee, uint256 totalFee)',
  'event ActionRequested(string indexed actionId, address indexed creator, uint8 actionType, uint256 price)',
]);
const account = privateKeyToAccount(key);
const reader = createPublicClient({ chain, transport: http(url), pollingInterval: 200 });
const wallet = createWalletClient({ account, chain, transport: http(url) });
const contract = { address, abi };

const [, , price] = await reader.readContract({ ...contract, functionName: 'getActionFee', args: [BigInt(kib)] });
const expires = BigInt(Math.floor(Date.now() / 1000) + 3600);
const commitment = {
  commitmentType: '',
  hashAlgo: 0,
  chunkSize: 0,
  totalSize: 0n,
  numChunks: 0,
  root: '0x',
  challengeIndices: [],
};
const args = [dataHash, 'from a wallet.bin', BigInt(counter), signatures, price, expires, BigInt(kib), commitment];
const asked = await reader.simulateContract({ account, ...contract, functionName: 'requestCascade', args });
const hash = await wallet.writeContract(asked.request);
const receipt = await reader.waitForTransactionReceipt({ hash, timeout: 30_000 });
const height = Number(receipt.blockNumber);
const include = () => fetch(`${list}&min_height=${height}`, { headers: { prefer: 'wait=10' } });
let listed = await include();
// A busy machine may be behind for longer than a request waits.
while (listed.status === 503) listed = await include();
const indexed = { status: listed.status, ...(await listed.json()) };
const { eventName } = decodeEventLog({ abi, ...receipt.logs[0] });
// Another action may have been registered since the simulation, so the id is the one that the receipt has the hash of.
const isRequested = (one) => keccak256(stringToBytes(one.id)) === receipt.logs[0].topics[1];
const { id } = indexed.actions?.find(isRequested) ?? {};
const action = await reader.readContract({ ...contract, functionName: 'getAction', args: [id] });
const stranger = '0x00000000000000000000000000000000000000aa';
const refused = await reader
  .simulateContract({ account: stranger, ...contract, functionName: 'approveAction', args: [id] })
  .then(
    () => '',
    ({ shortMessage }) => shortMessage,
  );

process.stdout.write(
  JSON.stringify(
    { hash, id, status: receipt.status, height, indexed, event: eventName, action, refused },
    (_, value) => (typeof value === 'bigint' ? String(value) : value),
  ),
);
