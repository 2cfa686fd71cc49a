/**
 * Drives viem against a running service: sends a transfer and watches its receipt, deploys the counter, calls it,
 * watches its events over WebSocket, and replaces a transaction that waits.
 *
 *   node viem.mjs <http address> <chain id> <private key> <WebSocket address>
 */
import {
  createPublicClient,
  createWalletClient,
  custom,
  defineChain,
  http,
  parseEther,
  parseGwei,
  webSocket,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { counter } from './counter.mjs';

const [url, chainId, key, wsUrl] = process.argv.slice(2);
const to = `0x${'5a'.repeat(20)}`;
const chain = defineChain({
  id: Number(chainId),
  name: 'local network',
  nativeCurrency: { name: 'Lume', symbol: 'LUME', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
const account = privateKeyToAccount(key);
const reader = createPublicClient({ chain, transport: http(url), pollingInterval: 200 });
const wallet = createWalletClient({ account, chain, transport: http(url) });

const before = await reader.getBalance({ address: to });
const hash = await wallet.sendTransaction({ to, value: parseEther('1.5') });
const receipt = await reader.waitForTransactionReceipt({ hash, timeout: 30_000 });
const transaction = await reader.getTransaction({ hash });
const block = await reader.getBlock({ blockHash: receipt.blockHash });
const after = await reader.getBalance({ address: to });

const deployment = await wallet.deployContract({ ...counter, args: [5n] });
const { contractAddress: address } = await reader.waitForTransactionReceipt({ hash: deployment });
const deployed = { address, abi: counter.abi };
const live = createPublicClient({ chain, transport: webSocket(wsUrl) });
const watched = new Promise((resolve) => {
  live.watchContractEvent({ ...deployed, eventName: 'Increased', onLogs: ([log]) => resolve(String(log.args.value)) });
});
// The subscription stands once what was asked after it is answered.
await live.getBlockNumber();
const increase = await wallet.writeContract({ ...deployed, functionName: 'increase', args: [37n] });
await reader.waitForTransactionReceipt({ hash: increase });
const refusal = await reader
  .simulateContract({ ...deployed, functionName: 'increase', args: [0n], account })
  .catch((error) => error.walk((cause) => cause.data?.errorName)?.data.errorName);

// One that waits for the nonce before it, then one in its place that pays more, then the one that both wait for.
const nonce = await reader.getTransactionCount({ address: account.address });
const send = async (value, at, gwei) =>
  await wallet.sendTransaction({
    to: `0x${'5b'.repeat(20)}`,
    value,
    nonce: at,
    gas: 21_000n,
    maxFeePerGas: parseGwei(gwei),
    maxPriorityFeePerGas: parseGwei(gwei),
  });
const first = await send(1n, nonce + 1, '10');
// viem tells a replacement from a loss only once it has seen the transaction that is replaced.
const seen = Promise.withResolvers();
const { request } = http(url)({ chain });
const seeing = async (asked) => {
  const answer = await request(asked);
  if (asked.method === 'eth_getTransactionByHash' && answer !== null) seen.resolve();
  return answer;
};
const patient = createPublicClient({ chain, transport: custom({ request: seeing }), pollingInterval: 200 });
const replaced = Promise.withResolvers();
const waiting = patient.waitForTransactionReceipt({ hash: first, timeout: 30_000, onReplaced: replaced.resolve });
await seen.promise;
const replacing = await send(2n, nonce + 1, '20');
await send(4n, nonce, '10');
const { transactionHash } = await waiting;
const { reason } = await replaced.promise;

process.stdout.write(
  JSON.stringify({
    hash,
    status: receipt.status,
    from: receipt.from,
    gasUsed: String(receipt.gasUsed),
    isInBlock: block.transactions.includes(hash),
    number: Number(receipt.blockNumber),
    nonce: transaction.nonce,
    moved: String(after - before),
    value: String(await reader.readContract({ ...deployed, functionName: 'value' })),
    watched: await watched,
    refusal,
    replaced: [reason, transactionHash === replacing],
  }),
);
const liveClient = await live.transport.getRpcClient();
liveClient.close();
