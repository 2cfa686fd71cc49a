import { setTimeout as pause } from 'node:timers/promises';
import { decodeTransaction } from '../../../src/edges/chain/sign/transaction-codec.ts';
import { signedTransaction } from '../../../src/edges/chain/sign/wallet.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { startLoad } from './evm-kills.ts';
import { startFiles } from '../callers/file-load.ts';
import { until } from '../polling.ts';
import type { Random } from '../histories/random-history.ts';
import type { Program } from '../programs/run-program.ts';

/** The servers below a local network. */
export const killedStores = ['postgres', 'nats'] as const;
export type KilledStore = (typeof killedStores)[number];

/** A local network whose stores are killed while transactions of both kinds are sent and files move. */
export type StoreKills = Readonly<{
  /** Kills a store at a moment that chance decides, and waits until transactions of both kinds are sealed again. */
  kill: (store: KilledStore, random: Random) => Promise<void>;
  /** Does harm at a moment that chance decides, and waits until transactions of both kinds are sealed after it. */
  harm: (work: () => Promise<void>, random: Random) => Promise<void>;
  /** Waits until one more file has come back. */
  filesMove: () => Promise<void>;
  /**
   * Ends the load; fails unless each acknowledged transaction of either kind is in exactly one block, and each
   * acknowledged upload is completed and comes back whole.
   */
  judge: () => Promise<Readonly<{ ethereum: number; cosmos: number; files: number }>>;
  end: () => void;
}>;

/** Settings of a whole local network at loopback addresses of its own, whose nodes keep to what they are told. */
export const wholeNetwork = (): Record<string, string> => {
  const part = (from: number): number => from + Math.floor(Math.random() * (255 - from));
  return { LOCAL_SUBNET: `127.${part(1)}.${part(0)}`, EVM_BLOCK_TIME: '1s', LOCAL_OUTAGES: 'off' };
};

const withinMs = 90_000;
/** A file that moves while a stream is brought back waits for that. */
const fileWithinMs = 240_000;
const mostMsBefore = 1_500;

/** Starts the load on a program. */
export function openStoreKills(program: Program): StoreKills {
  const { urls } = program.instance;
  const ethereum = startLoad(() => urls['json-rpc'] ?? '');
  const cosmos = startTransfers(urls['chain'] ?? '');
  const files = startFiles(urls['gateway'] ?? '');
  const explain = (what: string, cause?: unknown): never => {
    const last = program.log.filter(({ level }) => ['fatal', 'error', 'warn'].includes(level)).slice(-8);
    throw new Error(`${what}: ${JSON.stringify(last)}`, { cause });
  };
  const failures = [
    program.exited.then((status) => explain(`The program ended with ${status}`)),
    ...[ethereum, cosmos, files].map(async ({ failed }) =>
      failed.catch((caught: unknown) => explain(String(caught), caught)),
    ),
  ];
  for (const failure of failures) failure.catch(() => undefined);
  const progress = async (): Promise<void> => {
    const size = () => [ethereum.acknowledged.size, cosmos.acknowledged.size] as const;
    const before = size();
    const goesOn = () => size()[0] > before[0] && size()[1] > before[1];
    const going = until('transactions of both kinds are acknowledged', goesOn, withinMs).catch((caught: unknown) =>
      explain(`${String(caught)} (${before.join(' and ')} were, now ${size().join(' and ')})`, caught),
    );
    await Promise.race([going, ...failures]);
  };
  return {
    kill: async (store, random) => {
      await progress();
      await pause(random.below(mostMsBefore));
      const before = program.servers()[store];
      process.kill(before, 'SIGKILL');
      const isBack = () => ![0, before].includes(program.servers()[store]);
      await Promise.race([until(`${store} runs again`, isBack, withinMs), ...failures]);
    },
    harm: async (work, random) => {
      await progress();
      await pause(random.below(mostMsBefore));
      await Promise.race([work(), ...failures]);
      await progress();
    },
    filesMove: async () => {
      const before = files.fetched.size;
      const isMoved = () => files.fetched.size > before;
      await Promise.race([until('a file comes back', isMoved, fileWithinMs), ...failures]);
    },
    judge: async () => {
      await progress();
      const moved = await files.judge();
      const [{ acknowledged }, sent] = await Promise.all([ethereum.judge(), cosmos.judge()]);
      return { ethereum: acknowledged, cosmos: sent, files: moved };
    },
    end: () => {
      ethereum.end();
      cosmos.end();
      files.end();
    },
  };
}

// The last two sign for the local network and its gateway.
const [sender] = developmentAccounts().filter(({ key, index }) => key.type === 'secp256k1' && index === 7);
const [receiver] = developmentAccounts().filter(({ key, index }) => key.type === 'secp256k1' && index === 6);

type Json = Readonly<Record<string, unknown>>;

/** One signer that sends a coin again and again, each time until its block is known. */
function startTransfers(url: string) {
  const ending = new AbortController();
  const acknowledged = new Set<string>();
  const ask = async (path: string, init: RequestInit = {}): Promise<Json | undefined> => {
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(20_000) }).catch(() => undefined);
    return response?.ok ? ((await response.json()) as Json) : undefined;
  };
  const surely = async (path: string): Promise<Json> => await until(`${path} is answered`, () => ask(path), withinMs);
  const account = async () => {
    const { info } = await surely(`/cosmos/auth/v1beta1/account_info/${sender?.account}`);
    const { account_number, sequence } = info as Json;
    return { number: Number(account_number), sequence: Number(sequence) };
  };
  const balance = async (): Promise<number> => {
    const path = `/cosmos/bank/v1beta1/balances/${receiver?.account}/by_denom?denom=ulume`;
    return Number(((await surely(path))['balance'] as Json)['amount']);
  };
  const isSealed = async (hash: string): Promise<boolean> => {
    const found = await ask(`/cosmos/tx/v1beta1/txs/${hash}`);
    return Number((found?.['tx_response'] as Json | undefined)?.['code'] ?? -1) === 0;
  };
  const send = async (chainId: string, number: number, sequence: number): Promise<void> => {
    const amount = [{ denom: 'ulume', amount: '1' }];
    const [from_address, to_address] = [sender?.account ?? '', receiver?.account ?? ''];
    const message = { '@type': '/cosmos.bank.v1beta1.MsgSend', from_address, to_address, amount } as const;
    if (!sender) throw new Error('There is no such account');
    const bytes = signedTransaction(sender.key, [message], { chainId, denom: 'ulume', number, sequence });
    const { hash } = decodeTransaction(bytes);
    const body = JSON.stringify({ tx_bytes: Buffer.from(bytes).toString('base64'), mode: 'BROADCAST_MODE_SYNC' });
    const headers = { 'content-type': 'application/json' };
    while (!ending.signal.aborted) {
      const answer = await ask('/cosmos/tx/v1beta1/txs', { method: 'POST', headers, body });
      const { code } = (answer?.['tx_response'] ?? {}) as Readonly<{ code?: number }>;
      if (code === 0 || (await isSealed(hash))) return void acknowledged.add(hash);
      await pause(50);
    }
  };
  const sending = (async () => {
    const { default_node_info } = await surely('/cosmos/base/tendermint/v1beta1/node_info');
    const chainId = String((default_node_info as Json)['network']);
    const { number, sequence: first } = await account();
    const before = await balance();
    for (let sequence = first; !ending.signal.aborted; sequence += 1) await send(chainId, number, sequence);
    return { first, before };
  })();
  const failed = sending.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const judge = async (): Promise<number> => {
    ending.abort();
    const { first, before } = await sending;
    for (const hash of acknowledged) await until(`${hash} is sealed`, () => isSealed(hash), withinMs);
    const { sequence } = await account();
    const received = (await balance()) - before;
    if (received !== sequence - first) throw new Error(`${sequence - first} were sent and ${received} received`);
    if (received < acknowledged.size) throw new Error(`${acknowledged.size} acknowledged, ${received} received`);
    return acknowledged.size;
  };
  return { acknowledged, failed, judge, end: () => ending.abort() };
}
