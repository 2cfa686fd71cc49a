/** The counter of examples/hardhat, compiled by the compiler that npm installed: `{ abi, bytecode }`. */
import { readFileSync } from 'node:fs';
import solc from 'solc';

const file = new URL('../../examples/hardhat/contracts/Counter.sol', import.meta.url);
const input = {
  language: 'Solidity',
  sources: { 'Counter.sol': { content: readFileSync(file, 'utf8') } },
  settings: { outputSelection: { '*': { Counter: ['abi', 'evm.bytecode.object'] } } },
};
const { contracts, errors = [] } = JSON.parse(solc.compile(JSON.stringify(input)));
const { abi, evm } = contracts?.['Counter.sol']?.Counter ?? {};
if (!abi) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));

export const counter = { abi, bytecode: `0x${evm.bytecode.object}` };
