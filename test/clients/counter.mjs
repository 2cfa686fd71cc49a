// Compiles a small contract with the published solc: `add` counts, tells of it, and refuses zero.
import solc from 'solc';

const content = `// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;
contract Counter {
  uint256 public count;
  event Added(address indexed who, uint256 by);
  error Nothing(uint256 by);
  function add(uint256 by) external {
    if (by == 0) revert Nothing(by);
    count += by;
    emit Added(msg.sender, by);
  }
}`;
const input = {
  language: 'Solidity',
  sources: { 'Counter.sol': { content } },
  settings: { evmVersion: 'prague', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const { abi, evm } = output.contracts['Counter.sol'].Counter;

export const counter = { abi, bytecode: `0x${evm.bytecode.object}` };
