/**
 * Drives ethers 6 against a running service: deploys the counter, calls it, watches its events over WebSocket, and
 * replaces a transaction that waits.
 *
 *   node ethers.mjs <http address> <chain id> <private key> <WebSocket address>
 */
import { Contract, ContractFactory, JsonRpcProvider, parseUnits, Wallet, WebSocketProvider } from 'ethers';
import { counter } from './counter.mjs';

const [url, chainId, key, wsUrl] = process.argv.slice(2);
const options = { staticNetwork: true, polling: true, pollingInterval: 200, cacheTimeout: -1 };
const provider = new JsonRpcProvider(url, Number(chainId), options);
const live = new WebSocketProvider(wsUrl, Number(chainId));
const wallet = new Wallet(key, provider);
const { chainId: asked } = await provider.getNetwork();

const deployed = await new ContractFactory(counter.abi, counter.bytecode, wallet).deploy(5n);
await deployed.waitForDeployment();
const watched = Promise.withResolvers();
await new Contract(deployed.target, counter.abi, live).once('Increased', (by, amount, value) =>
  watched.resolve({ by, amount: String(amount), value: String(value) }),
);
// The subscription stands once the provider has answered something that was asked after it.
await live.getBlockNumber();
const call = await deployed.increase(37n);
const receipt = await call.wait();
const refusal = await deployed.increase.staticCall(0n).catch((error) => error.revert?.name);

// One that waits for the nonce before it, then one in its place that pays more, then the one that both wait for.
const nonce = await wallet.getNonce();
const fees = (gwei) => ({ maxFeePerGas: parseUnits(gwei, 'gwei'), maxPriorityFeePerGas: parseUnits(gwei, 'gwei') });
const to = `0x${'77'.repeat(20)}`;
const first = await wallet.sendTransaction({ to, value: 1n, nonce: nonce + 1, gasLimit: 21_000n, ...fees('10') });
const replacing = await wallet.sendTransaction({ to, value: 2n, nonce: nonce + 1, gasLimit: 21_000n, ...fees('20') });
await wallet.sendTransaction({ to, value: 4n, nonce, gasLimit: 21_000n, ...fees('10') });
const replaced = await first.wait().then(
  () => 'mined',
  (error) => [error.code, error.replacement?.hash === replacing.hash],
);

process.stdout.write(
  JSON.stringify({
    chainId: String(asked),
    value: String(await deployed.value()),
    status: receipt.status,
    logs: receipt.logs.map(({ fragment, args }) => [fragment.name, String(args.value)]),
    watched: await watched.promise,
    refusal,
    replaced,
    moved: String(await provider.getBalance(to)),
  }),
);
await live.destroy();
provider.destroy();
