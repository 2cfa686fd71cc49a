import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { contractAddresses } from '../../../src/edges/evm/contracts/addresses.ts';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { localEvmChainId, localEvmConfig } from '../../../src/edges/ledger/evm-chain.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { until } from '../../support/polling.ts';

type Hex = `0x${string}`;
/** A contract, who created it, the transaction that did, and one that calls it. */
export type Deployed = Readonly<{ address: string; creator: string; creation: string; call: string }>;

const transfer = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** Logs `Transfer(caller, itself, 5)`, calls `getParams` of the system contract of actions, and returns 42. */
const runtime = [
  `600560005230337f${transfer}60206000a3`,
  `635e615a6b60e01b6000526000600060046000600073${contractAddresses.action.slice(2)}5af150`,
  '602a60005260206000f3',
].join('');
/** Stores 42 in slot 0, then has what follows these 14 bytes as code. */
const creation: Hex = `0x602a60005560${(runtime.length / 2).toString(16)}80600e3d393df3${runtime}`;

/** Deploys a contract on the local network by its JSON-RPC, and calls it once. */
export async function deployContract(url: string): Promise<Deployed> {
  const call = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return ((await answer.json()) as Readonly<{ result?: unknown }>).result;
  };
  const person = developmentAccounts().find(({ key: { type }, index }) => type === 'eth_secp256k1' && index === 6);
  if (!person) throw new Error('There is no such account.');
  const { time, genesis } = localBeginning(1, Date.now());
  const common = createForks(localEvmConfig(time, genesis)).at({ number: 1n, timestamp: BigInt(Date.parse(time)) });
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n, gasLimit: 500_000n };
  const send = async (more: Readonly<{ to?: Hex; data?: Hex }>): Promise<Readonly<Record<string, string>>> => {
    const nonce = BigInt(String(await call('eth_getTransactionCount', person.hex, 'pending')));
    const fields = { ...fees, chainId: BigInt(localEvmChainId), nonce, ...more };
    const signed = createFeeMarket1559Tx(fields, { common }).sign(person.key.bytes);
    const hash = await call('eth_sendRawTransaction', `0x${Buffer.from(signed.serialize()).toString('hex')}`);
    const receipt = await until(
      'the transaction is in a block',
      async () => (await call('eth_getTransactionReceipt', hash)) ?? false,
    );
    return receipt as Readonly<Record<string, string>>;
  };
  const { contractAddress: address = '', transactionHash: first = '' } = await send({ data: creation });
  const { transactionHash: second = '' } = await send({ to: address as Hex });
  return { address, creator: person.hex, creation: first, call: second };
}
