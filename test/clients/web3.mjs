// Transfers, deploys, calls and watches with web3. Arguments: HTTP and WebSocket address, private key.
// Prints one line of JSON.
import { Web3 } from 'web3';
import { counter } from './counter.mjs';

const [url, wsUrl, key] = process.argv.slice(2);
const [web3, sockets] = [new Web3(url), new Web3(wsUrl)];
const { address: from } = web3.eth.accounts.wallet.add(key)[0];
web3.eth.transactionPollingInterval = 50;
const to = '0x000000000000000000000000000000000000f00d';

const moved = await web3.eth.sendTransaction({ from, to, value: web3.utils.toWei('1', 'ether') });
const made = new web3.eth.Contract(counter.abi);
const contract = await made.deploy({ data: counter.bytecode }).send({ from });
const watching = new sockets.eth.Contract(counter.abi, contract.options.address);
const [events, heads] = [Promise.withResolvers(), Promise.withResolvers()];
const subscription = watching.events.Added();
subscription.on('data', events.resolve);
const ofHeads = await sockets.eth.subscribe('newBlockHeaders');
ofHeads.on('data', heads.resolve);
await sockets.eth.getBlockNumber();
const added = await contract.methods.add(9n).send({ from });
const [event, head] = [await events.promise, await heads.promise];
const logs = await contract.getPastEvents('Added', { fromBlock: 0 });
const refused = await contract.methods
  .add(0n)
  .call({ from })
  .then(
    () => 'nothing',
    () => 'refused',
  );

console.log(
  JSON.stringify({
    chainId: String(await sockets.eth.getChainId()),
    statuses: [moved, added].map(({ status }) => String(status)),
    balance: String(await web3.eth.getBalance(to)),
    count: String(await contract.methods.count().call()),
    watched: String(event.returnValues.by),
    found: logs.map(({ returnValues }) => String(returnValues.by)),
    refused,
    head: typeof head.hash,
  }),
);
process.exit(0);
