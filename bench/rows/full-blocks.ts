import { readFile } from 'node:fs/promises';
import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, createContractAddress, createAddressFromPrivateKey } from '@ethereumjs/util';
import { createForks } from '../../src/edges/evm/executor/forks.ts';
import { localEvmChainId, localEvmConfig } from '../../src/edges/ledger/evm-chain.ts';
import { localBeginning } from '../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../src/edges/local-network/development-accounts.ts';
import { until } from '../../test/support/polling.ts';
import { type Program, runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import { type Context, once } from '../context.ts';
import { latencies, latenciesApart } from '../latencies.ts';
import type { Row } from '../row.ts';

const env = { ROLES: 'ledger,projector,evm', EVM_BLOCK_TIME: '1s', LOCAL_OUTAGES: 'off' };
/** Transactions of a block; each writes a thousand empty logs and a few. */
const transactions = 13;
const gasOfEach = 440_000n;
/** Calls without an end, each left by its caller a moment later. */
const endlessCalls = 60;
const leftAfterMs = 100;
const askEachMs = 20;
const gwei = 10n ** 9n;

/** Writes logs without data, or loops without any where it is called with data, for as long as there is gas. */
const runtime = '366011575b5f5fa06113885a11600457005b601156';
const length = (runtime.length / 2).toString(16);
const deployment = `0x60${length}600a5f3960${length}5ff3${runtime}` as const;

type Measured = Readonly<{ startS: number; memoryMb: number; numberMs: number; balanceMs: number }>;

/** A chain of fifty blocks of 13,000 logs each: its start, its memory, and short reads beside heavy ones. */
export function rows(context: Context): readonly Row[] {
  const measured = once(() => measure(context));
  const row = (name: string, figure: keyof Measured, unit: string, ours: number): Row => ({
    name: `full-blocks-${name}`,
    unit,
    better: 'lower',
    peerName: null,
    target: { ours },
    measure: async () => ({ ours: (await measured())[figure], peer: null, ratio: null }),
  });
  return [
    row('start', 'startS', 's', 6),
    row('memory', 'memoryMb', 'MB', 500),
    row('number-p99', 'numberMs', 'ms', 20),
    row('balance-p99', 'balanceMs', 'ms', 100),
  ];
}

async function measure(context: Context): Promise<Measured> {
  const dataDir = await context.folder('full-blocks');
  const start = async (): Promise<Program> => await runProgram({ dataDir, network: 'local', env, nodeArguments: lean });
  const first = await start();
  await first.untilReady();
  const rpc = rpcOf(first);
  const sender = await senderOn(rpc);
  const to = await sender.deploy();
  const stop = new AbortController();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] });
  const repeated = { url: first.instance.urls['json-rpc'] ?? '', body, everyMs: askEachMs };
  const numbers = latenciesApart(repeated, stop.signal);
  const blocks = context.size(50, 2);
  let logs = 0;
  for (let block = 1; block <= blocks; block += 1) {
    const hashes = await sender.send(to, transactions);
    const last = await until(
      'the block is sealed',
      async () => (await rpc('eth_getTransactionReceipt', hashes.at(-1))) as Receipt | undefined,
    );
    const receipts = (await rpc('eth_getBlockReceipts', last.blockNumber)) as readonly Receipt[];
    logs = Math.max(logs, receipts.flatMap((one) => one.logs).length);
    if (block % 10 === 0) context.say(`${block} blocks, up to ${logs} logs in one`);
  }
  stop.abort();
  const numberMs = p99(await numbers);
  const balanceMs = await besideEndlessCalls(first, to, context.size(500, 20));
  const head = Number(await rpc('eth_blockNumber'));
  await first.stop();
  const began = performance.now();
  const again = await start();
  try {
    await until('the chain is served', async () => Number(await rpcOf(again)('eth_blockNumber')) >= head);
    const startS = (performance.now() - began) / 1000;
    await again.untilReady();
    const status = await readFile(`/proc/${again.pid}/status`, 'utf8');
    const memoryMb = (Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1.024) / 1000;
    return { startS, memoryMb, numberMs, balanceMs };
  } finally {
    await again.stop();
  }
}

type Receipt = Readonly<{ blockNumber: string; logs: readonly unknown[] }>;
type Rpc = (method: string, ...params: unknown[]) => Promise<unknown>;

function rpcOf({ instance }: Program, signal?: AbortSignal): Rpc {
  return async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(instance.urls['json-rpc'] ?? '', {
      method: 'POST',
      headers,
      body,
      signal: signal ?? null,
    });
    const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? undefined;
  };
}

async function senderOn(rpc: Rpc) {
  const key = developmentAccounts().find((one) => one.key.type === 'eth_secp256k1' && one.index === 5)?.key.bytes;
  if (!key) throw new Error('There is no such account');
  const address = createAddressFromPrivateKey(key);
  const { genesis, time } = localBeginning(1, Date.now());
  const common = createForks(localEvmConfig(time, genesis)).at({ number: 1n, timestamp: BigInt(Date.parse(time)) });
  let nonce = BigInt((await rpc('eth_getTransactionCount', address.toString(), 'pending')) as string);
  const fees = { chainId: BigInt(localEvmChainId), maxFeePerGas: 1_000n * gwei, maxPriorityFeePerGas: gwei };
  const sent = async (what: object): Promise<string> => {
    const raw = createFeeMarket1559Tx({ ...fees, nonce, ...what }, { common })
      .sign(key)
      .serialize();
    nonce += 1n;
    return (await rpc('eth_sendRawTransaction', bytesToHex(raw))) as string;
  };
  return {
    deploy: async (): Promise<string> => {
      const at = createContractAddress(address, nonce).toString();
      const hash = await sent({ data: deployment, gasLimit: 200_000n });
      await until('the contract is there', async () => await rpc('eth_getTransactionReceipt', hash));
      return at;
    },
    send: async (to: string, count: number): Promise<readonly string[]> => {
      const hashes: string[] = [];
      for (let at = 0; at < count; at += 1) hashes.push(await sent({ to, gasLimit: gasOfEach }));
      return hashes;
    },
  };
}

/** Balances while calls run whose callers are gone. */
async function besideEndlessCalls(program: Program, to: string, count: number): Promise<number> {
  const rpc = rpcOf(program);
  const endless = Array.from({ length: endlessCalls }, async () => {
    const call = { to, data: '0x01', gas: '0x2faf080' };
    await rpcOf(program, AbortSignal.timeout(leftAfterMs))('eth_call', call, 'latest').catch(() => undefined);
  });
  const stop = new AbortController();
  let asked = 0;
  const request = async (): Promise<void> => {
    await rpc('eth_getBalance', to, 'latest');
    if ((asked += 1) >= count) stop.abort();
  };
  const all = await latencies(request, { everyMs: askEachMs, signal: stop.signal });
  await Promise.all(endless);
  return p99(all);
}

function p99(all: readonly number[]): number {
  const sorted = all.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
}
