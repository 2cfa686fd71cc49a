/** Deploys the counter once with viem and once with ethers, counts, and shows what the network says. */
import { network } from 'hardhat';

const { viem, ethers } = await network.create();

const reader = await viem.getPublicClient();
const counter = await viem.deployContract('Counter', [5n]);
const hash = await counter.write.increase([37n]);
const { blockNumber } = await reader.waitForTransactionReceipt({ hash });
const [event] = await counter.getEvents.Increased({}, { fromBlock: blockNumber });

const deployed = await ethers.deployContract('Counter', [7n]);
await deployed.waitForDeployment();
await (await deployed.increase(35n)).wait();
const refusal = await deployed.increase.staticCall(0n).catch(({ data }) => deployed.interface.parseError(data)?.name);

const seen = {
  viem: { value: String(await counter.read.value()), event: String(event?.args.value) },
  ethers: { value: String(await deployed.value()), refusal },
};
console.log(JSON.stringify(seen));
