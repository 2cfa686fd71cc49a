import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../../kit/errors.ts';
import type { Message } from '../../../commands/ledger/messages.ts';
import { loadProfile } from '../rest/profile.ts';
import { parseBounded } from '../../../kit/bounded-json.ts';
import { accountOf, type PrivateKey, publicKeyOf } from './keys.ts';
import { hashOf } from './transaction-codec.ts';
import { signedTransaction } from './wallet.ts';

/** A transaction in its block: code 0 where it was carried out, with its events. */
export type Sealed = Readonly<{
  txhash: string;
  height: number;
  code: number;
  log: string;
  events: readonly Readonly<{ type: string; attributes: readonly Readonly<{ key: string; value: string }>[] }>[];
}>;

/** An account as the chain shows it; its balance is in the chain's denomination. */
export type ShownAccount = Readonly<{ number: number; sequence: number; balance: bigint }>;

/** A chain's REST for who signs transactions there. */
export type ChainClient = Readonly<{
  /** Undefined where the chain does not know the account. */
  account: (address: string) => Promise<ShownAccount | undefined>;
  /** Least price of an action over a file of so many KB (1,024 bytes). */
  actionFee: (kilobytes: number) => Promise<bigint>;
  /**
   * Signs messages with a key, sends them and polls until their block is there.
   *
   * Fails with `INVALID_ARGUMENT` when the chain refuses them or does not carry them out, with `UNAVAILABLE` when it
   * does not answer, or no block takes them in time: what became of them is unknown then.
   */
  send: (key: PrivateKey, messages: readonly Message[]) => Promise<Sealed>;
  /** Asks whether the chain would carry messages out; fails like `send`, and nothing is sent. */
  simulate: (key: PrivateKey, messages: readonly Message[]) => Promise<void>;
  /** What the program that answers calls itself. */
  program: () => Promise<string>;
}>;

/** How a chain is spoken to. */
export type ChainClientOptions = Readonly<{
  /** Path of the chain's own modules, as the profile of its network names it; that of the local network unless set. */
  restPrefix?: string;
  /** How long a transaction that was taken in may wait for its block. */
  sealedWithinMs?: number;
}>;

type Json = Readonly<Record<string, unknown>>;
const answerWithinMs = 30_000;
const mostAnswerBytes = 8 * 2 ** 20;
const usualSealedWithinMs = 120_000;
/** Pauses between two questions for a block: short ones first, for chains that seal at once. */
const pollMs = { least: 50, most: 1_000 };
/** Code of a transaction that the chain's pool has already. */
const isKnownCode = 19;
/** The fee's denomination on every network of the kind. */
const denom = 'ulume';
const nodeInfoPath = '/cosmos/base/tendermint/v1beta1/node_info';
const transactionsPath = '/cosmos/tx/v1beta1/txs';

/** A client of one chain, by the address of its REST. */
export function createChainClient(url: string, options: ChainClientOptions = {}): ChainClient {
  const { restPrefix = loadProfile('local').restPrefix, sealedWithinMs = usualSealedWithinMs } = options;
  const ask = (path: string, init?: RequestInit): Promise<Json | undefined> => askChain(url, path, init);
  const account = async (address: string): Promise<ShownAccount | undefined> => {
    const shown = objectOf((await ask(`/cosmos/auth/v1beta1/account_info/${address}`))?.['info']);
    if (shown === undefined) return undefined;
    const coins = await ask(`/cosmos/bank/v1beta1/balances/${address}/by_denom?denom=${denom}`);
    const balance = BigInt(textOf(objectOf(coins?.['balance'])?.['amount'], '0'));
    return { number: Number(shown['account_number']), sequence: Number(shown['sequence']), balance };
  };
  const sign = async (key: PrivateKey, messages: readonly Message[]): Promise<Uint8Array> => {
    const signer = accountOf(publicKeyOf(key));
    const known = await account(signer);
    if (!known) throw new AppError('INVALID_ARGUMENT', `The chain does not know the account ${signer}: fund it first`);
    const { number, sequence } = known;
    return signedTransaction(key, messages, { chainId: await chainIdOf(ask), denom, number, sequence });
  };
  return {
    account,
    actionFee: async (kilobytes) => {
      const answer = await ask(`${restPrefix}/action/v1/get_action_fee/${kilobytes}`);
      return BigInt(textOf(answer?.['amount'], '0'));
    },
    send: async (key, messages) => await broadcast(ask, await sign(key, messages), sealedWithinMs),
    simulate: async (key, messages) => {
      const path = '/cosmos/tx/v1beta1/simulate';
      const { status, text } = await exchange(url, path, posted({ tx_bytes: base64Of(await sign(key, messages)) }));
      if (status === 200) return;
      const message = objectOf(parseBounded(text))?.['message'];
      if (typeof message !== 'string') throw unexpected(status, path);
      throw new AppError('INVALID_ARGUMENT', `The chain would not carry the transaction out: ${message}`);
    },
    program: async () => {
      const about = objectOf((await ask(nodeInfoPath))?.['application_version']);
      return textOf(about?.['app_name'], '');
    },
  };
}

type Ask = (path: string, init?: RequestInit) => Promise<Json | undefined>;

async function chainIdOf(ask: Ask): Promise<string> {
  const info = objectOf((await ask(nodeInfoPath))?.['default_node_info']);
  return textOf(info?.['network'], '');
}

/** Sends by SYNC and polls, which every chain of the kind answers; BLOCK is gone from newer ones. */
async function broadcast(ask: Ask, bytes: Uint8Array, sealedWithinMs: number): Promise<Sealed> {
  const answer = await ask(transactionsPath, posted({ tx_bytes: base64Of(bytes), mode: 'BROADCAST_MODE_SYNC' }));
  const received = responseIn(answer);
  if (received.code !== isKnownCode) requireCarriedOut(received);
  const sealed = await untilSealed(ask, hashOf(bytes), performance.now() + sealedWithinMs);
  requireCarriedOut(sealed);
  return sealed;
}

async function untilSealed(ask: Ask, hash: string, until: number): Promise<Sealed> {
  for (let pause = pollMs.least; performance.now() < until; pause = Math.min(2 * pause, pollMs.most)) {
    // A chain that does not answer now may do so before the time is over.
    const answer = await ask(`${transactionsPath}/${hash}`).catch((caught: unknown) => {
      if (!(caught instanceof AppError) || caught.code !== 'UNAVAILABLE') throw caught;
    });
    if (answer) return responseIn(answer);
    await delay(pause);
  }
  throw new AppError('UNAVAILABLE', `No block took the transaction ${hash} in time; what becomes of it is unknown`);
}

function responseIn(answer: Json | undefined): Sealed {
  const shown = objectOf(answer?.['tx_response']);
  const events = Array.isArray(shown?.['events']) ? (shown['events'] as Sealed['events']) : [];
  const [txhash, log] = [textOf(shown?.['txhash'], ''), textOf(shown?.['raw_log'], '')];
  return { txhash, height: Number(shown?.['height']), code: Number(shown?.['code']), log, events };
}

function requireCarriedOut({ code, log }: Sealed): void {
  if (code === 0) return;
  throw new AppError('INVALID_ARGUMENT', `The chain does not carry the transaction out: ${log} (code ${code})`);
}

function posted(body: object): RequestInit {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

async function askChain(url: string, path: string, init?: RequestInit): Promise<Json | undefined> {
  const { status, text } = await exchange(url, path, init);
  if (status === 404) return undefined;
  if (status !== 200) throw unexpected(status, path);
  return objectOf(parseBounded(text));
}

function unexpected(status: number, path: string): AppError {
  return new AppError('UNAVAILABLE', `The chain's REST answers ${status} to ${path}`);
}

async function exchange(url: string, path: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
  try {
    const signal = AbortSignal.timeout(answerWithinMs);
    const response = await fetch(url + path, { redirect: 'error', signal, ...init });
    return { status: response.status, text: await boundedText(response.body ?? []) };
  } catch (caught) {
    throw new AppError('UNAVAILABLE', `The chain's REST does not answer ${path}`, { cause: caught });
  }
}

async function boundedText(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > mostAnswerBytes) throw new Error(`the answer exceeds ${mostAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function objectOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

function textOf(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback;
}
