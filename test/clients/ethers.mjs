// Transfers, deploys, calls and watches with ethers. Arguments: HTTP and WebSocket address, private key.
// Prints one line of JSON.
import { ContractFactory, JsonRpcProvider, parseEther, Wallet, WebSocketProvider } from 'ethers';
import { counter } from './counter.mjs';

const [url, wsUrl, key] = process.argv.slice(2);
const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, polling: true, pollingInterval: 100 });
const sockets = new WebSocketProvider(wsUrl);
const wallet = new Wallet(key, provider);
const to = '0x000000000000000000000000000000000000bEEF';

const moved = await (await wallet.sendTransaction({ to, value: parseEther('1') })).wait();
const contract = await new ContractFactory(counter.abi, counter.bytecode, wallet).deploy();
await contract.waitForDeployment();
const events = Promise.withResolvers();
await contract.connect(sockets).on('Added', (who, by) => events.resolve([who === wallet.address, String(by)]));
const heads = Promise.withResolvers();
await sockets.on('block', heads.resolve);
await sockets.getBlockNumber();
const added = await (await contract.add(7n)).wait();
const [watched, head] = [await events.promise, await heads.promise];
const refused = await contract.add.staticCall(0n).then(
  () => 'nothing',
  (error) => error.revert?.name,
);
const logs = await contract.queryFilter('Added');

console.log(
  JSON.stringify({
    chainId: String((await sockets.getNetwork()).chainId),
    statuses: [moved.status, added.status],
    balance: String(await provider.getBalance(to)),
    count: String(await contract.count()),
    refused,
    watched,
    found: logs.map(({ args }) => String(args.by)),
    head: typeof head,
  }),
);
process.exit(0);
