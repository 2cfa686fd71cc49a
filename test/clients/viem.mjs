// Transfers, deploys, calls, watches and is refused with viem. Arguments: HTTP and WebSocket address, private key.
// Prints one line of JSON.
import { createPublicClient, createWalletClient, defineChain, http, parseEther, webSocket } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { counter } from './counter.mjs';

const [url, wsUrl, key] = process.argv.slice(2);
const chain = defineChain({
  id: 76857769,
  name: 'Annals',
  nativeCurrency: { name: 'Lume', symbol: 'LUME', decimals: 18 },
  rpcUrls: { default: { http: [url], webSocket: [wsUrl] } },
});
const account = privateKeyToAccount(key);
const overHttp = createPublicClient({ chain, transport: http(), pollingInterval: 50 });
const overWs = createPublicClient({ chain, transport: webSocket(), pollingInterval: 50 });
const wallet = createWalletClient({ account, chain, transport: http() });
const to = '0x000000000000000000000000000000000000dEaD';

const transfer = await wallet.sendTransaction({ to, value: parseEther('1') });
const moved = await overHttp.waitForTransactionReceipt({ hash: transfer });
const balance = await overHttp.getBalance({ address: to });

const deployed = await overHttp.waitForTransactionReceipt({ hash: await wallet.deployContract(counter) });
const contract = { address: deployed.contractAddress, abi: counter.abi };
const heads = Promise.withResolvers();
const endHeads = overWs.watchBlocks({ onBlock: heads.resolve, onError: heads.reject });
const events = Promise.withResolvers();
const endEvents = overWs.watchContractEvent({ ...contract, onLogs: events.resolve, onError: events.reject });
const polled = Promise.withResolvers();
const endPolling = overHttp.watchContractEvent({ ...contract, onLogs: polled.resolve, onError: polled.reject });
await overHttp.getBlockNumber({ cacheTime: 0 });
await new Promise((resolve) => setTimeout(resolve, 300));
const hash = await wallet.writeContract({ ...contract, functionName: 'add', args: [5n] });
const added = await overHttp.waitForTransactionReceipt({ hash });
const [watched, seen, head] = [await events.promise, await polled.promise, await heads.promise];
for (const end of [endHeads, endEvents, endPolling]) end();
const count = await overHttp.readContract({ ...contract, functionName: 'count' });
const refused = await overHttp.simulateContract({ ...contract, account, functionName: 'add', args: [0n] }).then(
  () => 'nothing',
  (error) => error.walk((one) => one.data?.errorName).data.errorName,
);
const logs = await overHttp.getContractEvents({ ...contract, eventName: 'Added', fromBlock: 0n });

console.log(
  JSON.stringify({
    chainId: await overWs.getChainId(),
    statuses: [moved.status, deployed.status, added.status],
    balance: String(balance),
    count: String(count),
    refused,
    watched: [watched, seen, logs].map((list) =>
      list.map(({ args, transactionHash }) => [String(args.by), transactionHash === hash]),
    ),
    head: typeof head.number,
  }),
);
process.exit(0);
