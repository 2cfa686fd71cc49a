import { createRequire } from 'node:module';
import { serve } from '../../bench/peers/driver.mjs';

/** Measures EDR, the engine of Hardhat, in this process: the same transactions and calls as Annals is measured with. */
const edr = createRequire(import.meta.url)('@nomicfoundation/edr');
const bytes = (hex) => new Uint8Array(Buffer.from(hex.slice(2), 'hex'));
/** There may be one in a process. */
const context = new edr.EdrContext();
await context.registerProviderFactory(edr.L1_CHAIN_TYPE, edr.l1ProviderFactory());
let provider;

async function request(method, params = []) {
  const { data } = await provider.handleRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const answer = typeof data === 'string' ? JSON.parse(data) : data;
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
}

async function open({ chainId, accounts, gasLimit }) {
  const own = Object.entries(accounts).map(([address, { balance, code, nonce, storage = {} }]) => ({
    address: bytes(address.startsWith('0x') ? address : `0x${address}`),
    balance: BigInt(balance),
    ...(code && { code: bytes(code), nonce: BigInt(nonce ?? 1) }),
    storage: Object.entries(storage).map(([index, value]) => ({ index: BigInt(index), value: BigInt(value) })),
  }));
  const hardfork = 'Prague';
  const config = {
    allowBlocksWithSameTimestamp: false,
    allowUnlimitedContractSize: false,
    bailOnCallFailure: false,
    bailOnTransactionFailure: true,
    chainId: BigInt(chainId),
    coinbase: new Uint8Array(20).fill(0xcc),
    defaultTransactionGasLimit: 16_000_000n,
    genesisState: [...edr.l1GenesisState(edr.l1HardforkFromString(hardfork)), ...own],
    hardfork,
    initialBaseFeePerGas: 1_000_000_000n,
    minGasPrice: 0n,
    mining: { autoMine: false, blockGasLimit: BigInt(gasLimit), memPool: { order: edr.MineOrdering.Fifo } },
    network: { genesisBlockGasLimit: BigInt(gasLimit) },
    networkId: BigInt(chainId),
    observability: {},
    ownedAccounts: [],
    precompileOverrides: [],
    transactionGasCap: false,
  };
  const logger = { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => undefined };
  const subscription = { subscriptionCallback: () => undefined };
  provider = await context.createProvider(edr.L1_CHAIN_TYPE, config, logger, subscription, new edr.ContractDecoder());
}

/** How much is done in a second of processor time of this process, whose other threads count as well. */
async function perCpuSecond(count, work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (count / (user + system)) * 1_000_000;
}

const seal = ({ blocks }) =>
  perCpuSecond(blocks.flat().length, async () => {
    for (const block of blocks) {
      for (const raw of block) await request('eth_sendRawTransaction', [raw]);
      await request('evm_mine');
      const sealed = await request('eth_getBlockByNumber', ['latest', false]);
      if (sealed.transactions.length !== block.length) throw new Error(`only ${sealed.transactions.length} were mined`);
    }
  });

const call = ({ calls }) =>
  perCpuSecond(calls.length, async () => {
    for (const one of calls) await request('eth_call', [one, 'latest']);
  });

await serve({ open, seal, call });
