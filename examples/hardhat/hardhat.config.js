import { createRequire } from 'node:module';
import hardhatEthers from '@nomicfoundation/hardhat-ethers';
import hardhatIgnition from '@nomicfoundation/hardhat-ignition';
import hardhatViem from '@nomicfoundation/hardhat-viem';

// The second development account (./annals accounts): everybody knows its key, so it is for the local network alone.
const { ANNALS_RPC = 'http://127.0.0.1:8545', ANNALS_KEY } = process.env;
const key = ANNALS_KEY ?? '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';

export default {
  plugins: [hardhatEthers, hardhatIgnition, hardhatViem],
  // The compiler that npm installed, so that nothing is fetched from elsewhere.
  solidity: { version: '0.8.37', path: createRequire(import.meta.url).resolve('solc/soljson.js') },
  // A block of the local network is never taken back.
  ignition: { requiredConfirmations: 1 },
  networks: { annals: { type: 'http', chainType: 'l1', url: ANNALS_RPC, accounts: [key] } },
};
