import { setTimeout as pause } from 'node:timers/promises';
import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { localEvmChainId, localEvmConfig } from '../../../src/edges/ledger/evm-chain.ts';
import { failureOf } from '../../../src/kit/failure.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { until } from '../polling.ts';
import type { Random } from '../histories/random-history.ts';
import { type Program, runProgram } from '../programs/run-program.ts';

/** The processes that a transaction goes through, each killed in its turn. */
export const killedRoles = ['ledger', 'projector', 'evm'] as const;
export type KilledRole = (typeof killedRoles)[number];

const gwei = 10n ** 9n;
const receiver = `0x${'5b'.repeat(20)}` as const;
const senders = 6;
const askAgainMs = 20;
/** Most gas of a call, as the processes are set. */
export const gasCap = 700_000;
const readyWithinMs = 120_000;

/** A chain whose sealer, projector and JSON-RPC are processes of their own, under a load of transfers. */
export type EvmKills = Readonly<{
  /** Kills the process of a role at a moment that chance decides, and starts it again; gives what was done. */
  kill: (role: KilledRole, random: Random) => Promise<string>;
  /**
   * Ends the load; fails unless each acknowledged transaction is in exactly one block, the head never went back and no
   * block became another one. `late` is how often the state of the latest block was not stored in time.
   */
  judge: () => Promise<Readonly<{ acknowledged: number; head: number; late: number }>>;
  /** The gas that a call has left which names none. */
  gasOfCall: () => Promise<number>;
  close: () => Promise<void>;
}>;

/** Starts the processes over stores that one more process runs, and the load. */
export async function openEvmKills(newFolder: () => string | Promise<string>): Promise<EvmKills> {
  const network = 'local';
  const stores = await runProgram({ dataDir: await newFolder(), network, env: { ROLES: 'auditor' } });
  const start = async (role: KilledRole, dataDir: string): Promise<Program> => {
    const env = { ...reachOf(stores), ROLES: role, EVM_GAS_CAP: String(gasCap) };
    const program = await runProgram({ dataDir, network, env });
    return program;
  };
  const folders = new Map<KilledRole, string>();
  const programs = new Map<KilledRole, Program>();
  const begin = async (role: KilledRole): Promise<Program> => {
    const folder = folders.get(role) ?? (await newFolder());
    folders.set(role, folder);
    const program = await start(role, folder);
    programs.set(role, program);
    return program;
  };
  for (const role of killedRoles) await begin(role);
  for (const program of programs.values()) await program.untilReady(readyWithinMs);
  const load = startLoad(() => programs.get('evm')?.instance.urls['json-rpc'] ?? '');
  return {
    kill: async (role, random) => {
      const before = load.acknowledged.size;
      await until('transactions are acknowledged', () => load.acknowledged.size > before, readyWithinMs);
      const afterMs = random.below(400);
      await pause(afterMs);
      await programs.get(role)?.kill();
      await (await begin(role)).untilReady(readyWithinMs);
      return `${role} killed after ${load.acknowledged.size} acknowledged transactions and ${afterMs} ms`;
    },
    judge: async () => await load.judge(),
    gasOfCall: async () => {
      // GAS, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN
      const overrides = { [receiver]: { code: '0x5a5f5260205ff3' } };
      const body = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: receiver }, 'latest', overrides] };
      const headers = { 'content-type': 'application/json' };
      const url = programs.get('evm')?.instance.urls['json-rpc'] ?? '';
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return Number(((await answer.json()) as Readonly<{ result?: string }>).result);
    },
    close: async () => {
      load.end();
      for (const program of [...programs.values(), stores]) await program.stop();
    },
  };
}

/** How the stores of a process are reached by another. */
function reachOf({ instance: { nats, postgres } }: Program): Record<string, string> {
  const { url, user, pass } = nats as Readonly<{ url: string; user: string; pass: string }>;
  const { host = '', port = 5432, database = '', user: dbUser = '' } = postgres;
  return {
    NATS_URL: url.replace('://', `://${user}:${pass}@`),
    DB_DSN: `postgres://${dbUser}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
  };
}

/** What JSON-RPC says while a store below it is away. */
const storeAway = /(does|did) not (answer|acknowledge)|out of reach|(is|are) being made/;

type Rpc = (method: string, ...params: unknown[]) => Promise<unknown>;

/**
 * Asks until there is an answer of JSON-RPC, whose error is given as one: the process may be away, and somebody else at
 * its port meanwhile.
 */
function rpcOf(url: () => string, signal: AbortSignal): Rpc {
  return async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    for (;;) {
      signal.throwIfAborted();
      try {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(url(), { method: 'POST', headers, body, signal: AbortSignal.timeout(60_000) });
        const given = (await answer.json()) as { jsonrpc?: string; result?: unknown; error?: { message: string } };
        const isAway = given.error !== undefined && storeAway.test(given.error.message);
        if (given.jsonrpc === '2.0' && !isAway) return given.error ? new Error(given.error.message) : given.result;
      } catch {
        // Nobody is there.
      }
      await pause(askAgainMs);
    }
  };
}

type Block = Readonly<{ number: string; hash: string; transactions: readonly string[] }>;
type Receipt = Readonly<{ transactionHash: string }>;

/** Transfers that are sent without end, and what is judged of them. */
export type Load = Readonly<{
  acknowledged: ReadonlySet<string>;
  /** Rejects once a transfer or a read is refused for good; never resolves. */
  failed: Promise<never>;
  judge: EvmKills['judge'];
  end: () => void;
}>;

/** Sends transfers of several accounts to a JSON-RPC, each until it is acknowledged. */
export function startLoad(url: () => string): Load {
  const ending = new AbortController();
  const closing = new AbortController();
  const rpc = rpcOf(url, closing.signal);
  const acknowledged = new Set<string>();
  /** The last acknowledged transaction of each sender. */
  const last = new Map<number, string>();
  const heads: Readonly<{ number: number; hash: string }>[] = [];
  let late = 0;
  const noteLate = (answer: unknown): void => {
    if (answer instanceof Error && answer.message.includes('is not at hand')) late += 1;
  };
  /** Sends until it is taken in; false where the load ended before. */
  const isTaken = async (raw: string, hash: string): Promise<boolean> => {
    for (;;) {
      const answer = await rpc('eth_sendRawTransaction', raw);
      if (answer === hash) return true;
      const refusal = answer instanceof Error ? answer.message : String(answer);
      // Taken in before its answer was lost, and sealed since: nobody else uses the nonces of this account, and what is
      // called acknowledged here must be found in a block at the end.
      if (/^nonce too low|^already known: a block holds it$/.test(refusal)) return true;
      // While nobody seals, a sender may have so many waiting and no more; on a slow machine a state may come too late.
      noteLate(answer);
      if (!/account limit exceeded|is not at hand|aborted/.test(refusal))
        throw new Error(`A transfer was answered ${refusal}`);
      if (ending.signal.aborted) return false;
      await pause(askAgainMs);
    }
  };
  const sending = Array.from({ length: senders }, async (_, index) => {
    for (let nonce = 0; !ending.signal.aborted; nonce += 1) {
      const { raw, hash } = transferOf(index, nonce);
      if (await isTaken(raw, hash)) {
        acknowledged.add(hash);
        last.set(index, hash);
      }
      await pause(askAgainMs);
    }
  });
  const blockAt = async (block: string): Promise<Block> => {
    const given = await rpc('eth_getBlockByNumber', block, false);
    if (given instanceof Error) throw given;
    return given as Block;
  };
  const watching = (async () => {
    while (!ending.signal.aborted) {
      const head = await blockAt('latest');
      heads.push({ number: Number(head.number), hash: head.hash });
      noteLate(await rpc('eth_getBalance', receiver, 'latest'));
      await pause(askAgainMs);
    }
  })();
  const failed = failureOf([...sending, watching], ending.signal);
  const judge = async () => {
    ending.abort();
    await Promise.all([...sending, watching]);
    for (const [index, { number }] of heads.slice(1).entries()) {
      const before = heads[index]?.number ?? 0;
      if (number < before) throw new Error(`The head went back from ${before} to ${number}`);
    }
    // A sender's transactions are mined in their order.
    const isMined = async (hash: string): Promise<boolean> => Boolean(await rpc('eth_getTransactionReceipt', hash));
    for (const hash of last.values()) await until(`${hash} is mined`, async () => await isMined(hash), readyWithinMs);
    const head = Number(await rpc('eth_blockNumber'));
    const times = new Map<string, number>();
    const hashes: string[] = [];
    for (let number = 0; number <= head; number += 1) {
      const { hash: own, transactions } = await blockAt(`0x${number.toString(16)}`);
      hashes.push(own);
      const receipts = (await rpc('eth_getBlockReceipts', own)) as readonly Receipt[];
      const told = receipts.map(({ transactionHash }) => transactionHash);
      if (told.join() !== transactions.join()) throw new Error(`Block ${number} has other receipts than transactions`);
      for (const hash of transactions) times.set(hash, (times.get(hash) ?? 0) + 1);
    }
    const other = heads.find(({ number, hash }) => hashes[number] !== hash);
    if (other) throw new Error(`Block ${other.number} was ${other.hash} once and is ${hashes[other.number]} now`);
    const wrong = [...acknowledged].filter((hash) => times.get(hash) !== 1);
    if (wrong.length > 0) throw new Error(`${wrong.length} acknowledged transactions are not in exactly one block`);
    return { acknowledged: acknowledged.size, head, late };
  };
  const end = (): void => {
    ending.abort();
    closing.abort();
    void Promise.allSettled([...sending, watching]);
  };
  return { acknowledged, failed, judge, end };
}

const { genesis, time } = localBeginning(1, Date.now());
const common = createForks(localEvmConfig(time, genesis)).at({ number: 1n, timestamp: BigInt(Date.parse(time)) });
// The first one funds others in a local network.
const keys = developmentAccounts().filter(({ key, index }) => key.type === 'eth_secp256k1' && index > 0);

function transferOf(sender: number, nonce: number): Readonly<{ raw: string; hash: string }> {
  const transaction = createFeeMarket1559Tx(
    {
      chainId: BigInt(localEvmChainId),
      nonce,
      gasLimit: 21_000n,
      maxFeePerGas: 100n * gwei,
      maxPriorityFeePerGas: gwei,
      to: receiver,
      value: 1n,
    },
    { common },
  ).sign(keys[sender]?.key.bytes ?? new Uint8Array(32));
  const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
  return { raw: hex(transaction.serialize()), hash: hex(transaction.hash()) };
}
