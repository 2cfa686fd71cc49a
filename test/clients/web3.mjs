/**
 * Drives web3 4 against a running service: deploys the counter, calls it, watches new blocks and events over WebSocket,
 * and replaces a transaction that waits.
 *
 *   node web3.mjs <http address> <chain id> <private key> <WebSocket address>
 */
import { Web3 } from 'web3';
import { counter } from './counter.mjs';

const [url, , key, wsUrl] = process.argv.slice(2);
const web3 = new Web3(url);
const live = new Web3(wsUrl);
const account = web3.eth.accounts.wallet.add(key).get(0);
const from = account.address;
web3.eth.transactionPollingInterval = 200;

const gas = 1_000_000n;
const factory = new web3.eth.Contract(counter.abi);
const deployed = await factory.deploy({ data: counter.bytecode, arguments: [5n] }).send({ from, gas: String(gas) });
const address = deployed.options.address;

const heads = await live.eth.subscribe('newBlockHeaders');
const logs = await live.eth.subscribe('logs', { address });
const head = new Promise((resolve) => heads.once('data', ({ number }) => resolve(Number(number))));
const log = new Promise((resolve) => logs.once('data', ({ topics }) => resolve(topics.length)));
const receipt = await deployed.methods.increase(37n).send({ from, gas: String(gas) });
const refusal = await deployed.methods
  .increase(0n)
  .call({ from })
  .catch((error) => error.cause?.errorName ?? error.message);

// One that waits for the nonce before it, then one in its place that pays more, then the one that both wait for.
const nonce = Number(await web3.eth.getTransactionCount(from));
const to = `0x${'78'.repeat(20)}`;
const sign = async (value, at, gwei) =>
  await account.signTransaction({
    to,
    value: String(value),
    nonce: at,
    gas: 21_000,
    chainId: await web3.eth.getChainId(),
    maxFeePerGas: web3.utils.toWei(gwei, 'gwei'),
    maxPriorityFeePerGas: web3.utils.toWei(gwei, 'gwei'),
  });
const send = ({ rawTransaction }) =>
  web3.requestManager.send({ method: 'eth_sendRawTransaction', params: [rawTransaction] });
const first = await send(await sign(1, nonce + 1, '10'));
const replacing = await sign(2, nonce + 1, '20');
await send(replacing);
await web3.eth.sendSignedTransaction((await sign(4, nonce, '10')).rawTransaction);
const receiptOf = async (hash) => {
  for (;;) {
    const found = await web3.eth.getTransactionReceipt(hash).catch(() => undefined);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};
const { status } = await receiptOf(replacing.transactionHash);
const gone = await web3.eth.getTransaction(first).catch(() => null);

process.stdout.write(
  JSON.stringify({
    value: String(await deployed.methods.value().call()),
    event: String(receipt.events?.Increased?.returnValues.value),
    watched: { isNext: (await head) <= Number(receipt.blockNumber), topics: await log },
    refusal,
    replaced: [String(status), gone],
    moved: String(await web3.eth.getBalance(to)),
  }),
);
live.currentProvider.disconnect();
