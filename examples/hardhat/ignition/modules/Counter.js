import { buildModule } from '@nomicfoundation/hardhat-ignition/modules';

/** Deploys a counter and counts once: two transactions, the second after the first. */
export default buildModule('Counter', (module) => {
  const counter = module.contract('Counter', [40n]);
  module.call(counter, 'increase', [2n]);
  return { counter };
});
