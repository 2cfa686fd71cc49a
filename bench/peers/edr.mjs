/** EDR, the engine of Hardhat, as Hardhat uses it, beside the same load. */
import {
  ContractDecoder,
  EdrContext,
  L1_CHAIN_TYPE,
  l1GenesisState,
  l1HardforkFromString,
  l1ProviderFactory,
  MineOrdering,
  PRAGUE,
} from '@nomicfoundation/edr';
import { balanceCall, beginning, blockOfTransactions, loadedChain, perCpuSecond, token } from '../evm-load.ts';
import { serve } from './driver.mjs';

const config = loadedChain();
const gasLimit = 50_000_000n;
const bytes = (hex) => Buffer.from(hex.replace('0x', ''), 'hex');
const hex = (raw) => `0x${Buffer.from(raw).toString('hex')}`;
/** One for each kind of load, so that the nonces of one do not meet those of another. */
const chains = new Map();
let context;

await serve({
  coins: ({ from, blocks }) => seal('coins', from, blocks),
  tokens: ({ from, blocks }) => seal('tokens', from, blocks),
  calls: async ({ count }) => {
    const ask = await chain('calls');
    return await perCpuSecond(count, async () => {
      for (let at = 0; at < count; at += 1)
        await ask('eth_call', { to: token, data: balanceCall(at), gas: '0x2faf080' }, 'latest');
    });
  },
});

async function seal(of, from, blocks) {
  const ask = await chain(of);
  const items = Array.from({ length: blocks }, (_, at) => blockOfTransactions(config, of, BigInt(from + at)));
  return await perCpuSecond(items.flat().length, async () => {
    for (const block of items) {
      for (const { raw } of block) await ask('eth_sendRawTransaction', hex(raw));
      await ask('evm_mine');
      const { transactions } = await ask('eth_getBlockByNumber', 'latest', false);
      if (transactions.length !== block.length) throw new Error(`${transactions.length} transactions were mined`);
    }
  });
}

async function chain(name) {
  if (!chains.has(name)) chains.set(name, await begin());
  return chains.get(name);
}

async function begin() {
  if (!context) {
    context = new EdrContext();
    await context.registerProviderFactory(L1_CHAIN_TYPE, l1ProviderFactory());
  }
  const { alloc } = config.genesis;
  const accounts = Object.entries(alloc).map(([address, { balance, code }]) => ({
    address: bytes(address),
    balance: BigInt(balance),
    ...(code && { code: bytes(code) }),
  }));
  const provider = await context.createProvider(
    L1_CHAIN_TYPE,
    {
      allowBlocksWithSameTimestamp: true,
      allowUnlimitedContractSize: false,
      bailOnCallFailure: true,
      bailOnTransactionFailure: true,
      chainId: BigInt(config.genesis.config.chainId),
      networkId: BigInt(config.genesis.config.chainId),
      coinbase: bytes(token),
      defaultTransactionGasLimit: gasLimit,
      genesisState: [...l1GenesisState(l1HardforkFromString(PRAGUE)), ...accounts],
      hardfork: PRAGUE,
      initialBaseFeePerGas: 1_000_000_000n,
      minGasPrice: 0n,
      mining: { autoMine: false, blockGasLimit: gasLimit, memPool: { order: MineOrdering.Fifo } },
      network: { genesisBlockGasLimit: gasLimit, genesisBlockTime: beginning },
      observability: {},
      ownedAccounts: [],
      precompileOverrides: [],
    },
    { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => undefined },
    { subscriptionCallback: () => undefined },
    new ContractDecoder(),
  );
  const ask = async (method, ...params) => {
    const { data } = await provider.handleRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { result, error } = typeof data === 'string' ? JSON.parse(data) : data;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  for (const [slot, value] of Object.entries(alloc[token].storage))
    await ask('hardhat_setStorageAt', token, `0x${BigInt(slot).toString(16)}`, value);
  return ask;
}
