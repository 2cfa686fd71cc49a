import { AppError } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';
import type { Message } from '../../../commands/ledger/messages.ts';
import type { ChainClient, ChainSession } from '../rest/client.ts';
import { ChainFailure } from '../rest/failure.ts';
import { asObject } from '../rest/values.ts';
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

/** Signs transactions of a chain and sends them; what the chain does not answer fails with `UNAVAILABLE`. */
export type Signer = Readonly<{
  /** Undefined where the chain does not know the account. */
  account: (address: string) => Promise<ShownAccount | undefined>;
  /** Least price of an action over a file of so many KB (1,024 bytes). */
  actionFee: (kilobytes: number) => Promise<bigint>;
  /**
   * Signs messages with a key, sends them and polls until their block is there.
   *
   * Fails with `INVALID_ARGUMENT` when the chain refuses them or does not carry them out, with `UNAVAILABLE` when it
   * does not answer, or no block includes them in time: their outcome is unknown then.
   */
  send: (key: PrivateKey, messages: readonly Message[]) => Promise<Sealed>;
  /** Requests the chain to simulate messages; fails like `send`, and sends no transaction. */
  simulate: (key: PrivateKey, messages: readonly Message[]) => Promise<void>;
  /** The name of the chain's program, in its own words. */
  program: () => Promise<string>;
}>;

const usualSealedWithinMs = 120_000;
/** Pauses between two questions for a block: short ones first, for chains that seal at once. */
const pollMs = { least: 50, most: 1_000 };
/** Code of a transaction that the chain's pool has already. */
const isKnownCode = 19;
/** The fee's denomination on every network of the kind. */
const denom = 'ulume';
const nodeInfoPath = '/cosmos/base/tendermint/v1beta1/node_info';
const transactionsPath = '/cosmos/tx/v1beta1/txs';

/** How long an accepted transaction may wait for its block, two minutes unless set, and what ends the wait before. */
type SignerOptions = Readonly<{ sealedWithinMs?: number | undefined; signal?: AbortSignal | undefined }>;

/**
 * A signer over the client of a chain.
 *
 * @example await createSigner(createChainClient(url, profile)).send(key, [message])
 */
export function createSigner(
  chain: ChainClient,
  { sealedWithinMs = usualSealedWithinMs, signal = new AbortController().signal }: SignerOptions = {},
): Signer {
  const find = async (path: string, query?: Readonly<Record<string, string>>): Promise<unknown> =>
    (await chain.session(signal).find(path, query && { query }))?.body;
  const account = async (address: string): Promise<ShownAccount | undefined> => {
    const shown = asObject(asObject(await find(`/cosmos/auth/v1beta1/account_info/${address}`))?.['info']);
    if (shown === undefined) return undefined;
    const coins = asObject(await find(`/cosmos/bank/v1beta1/balances/${address}/by_denom`, { denom }));
    const balance = BigInt(textOf(asObject(coins?.['balance'])?.['amount'], '0'));
    return { number: Number(shown['account_number']), sequence: Number(shown['sequence']), balance };
  };
  const signed = async (key: PrivateKey, messages: readonly Message[], expected?: number): Promise<Uint8Array> => {
    const signer = accountOf(publicKeyOf(key));
    const known = await account(signer);
    if (!known) throw new AppError('INVALID_ARGUMENT', `The chain does not know the account ${signer}: fund it first`);
    const { number, sequence } = known;
    const info = asObject(asObject(await find(nodeInfoPath))?.['default_node_info']);
    return signedTransaction(key, messages, {
      chainId: textOf(info?.['network'], ''),
      denom,
      number,
      sequence: expected ?? sequence,
    });
  };
  return {
    account,
    actionFee: async (kilobytes) => {
      const answer = asObject(await find(`~/action/v1/get_action_fee/${kilobytes}`));
      return BigInt(textOf(answer?.['amount'], '0'));
    },
    send: async (key, messages) =>
      await inSequence(
        (expected) => signed(key, messages, expected),
        async (bytes) => await broadcast(chain.session(signal), bytes, { sealedWithinMs, signal }),
      ),
    simulate: async (key, messages) =>
      await inSequence(
        (expected) => signed(key, messages, expected),
        async (bytes) => {
          const sent = { tx_bytes: base64Of(bytes) };
          await chain.session(signal).post('/cosmos/tx/v1beta1/simulate', sent).catch(asRefusal);
        },
      ),
    program: async () =>
      textOf(asObject(asObject(await find(nodeInfoPath))?.['application_version'])?.['app_name'], ''),
  };
}

/** An answer that is behind shows a sequence which is used up; the refusal names the one that the chain expects. */
async function inSequence<T>(
  sign: (expected?: number) => Promise<Uint8Array>,
  use: (bytes: Uint8Array) => Promise<T>,
): Promise<T> {
  try {
    return await use(await sign());
  } catch (caught) {
    const expected = expectedSequence(caught);
    if (expected === undefined) throw caught;
    return await use(await sign(expected));
  }
}

/** Sends by SYNC and polls, which every chain of the kind answers; BLOCK is gone from newer ones. */
async function broadcast(
  session: ChainSession,
  bytes: Uint8Array,
  { sealedWithinMs, signal }: Readonly<{ sealedWithinMs: number; signal: AbortSignal }>,
): Promise<Sealed> {
  const sent = { tx_bytes: base64Of(bytes), mode: 'BROADCAST_MODE_SYNC' };
  const received = responseIn((await session.post(transactionsPath, sent)).body);
  if (received.code !== isKnownCode) requireCarriedOut(received);
  const sealed = await untilSealed(session, hashOf(bytes), { until: performance.now() + sealedWithinMs, signal });
  requireCarriedOut(sealed);
  return sealed;
}

async function untilSealed(
  session: ChainSession,
  hash: string,
  { until, signal }: Readonly<{ until: number; signal: AbortSignal }>,
): Promise<Sealed> {
  for (
    let pause = pollMs.least;
    performance.now() < until && !signal.aborted;
    pause = Math.min(2 * pause, pollMs.most)
  ) {
    // A chain that does not answer now may do so before the time is over.
    const answer = await session.find(`${transactionsPath}/${hash}`).catch((caught: unknown) => {
      if (!(caught instanceof ChainFailure)) throw caught;
    });
    if (answer) return responseIn(answer.body);
    await wait(pause, signal);
  }
  throw new AppError('UNAVAILABLE', `No block took the transaction ${hash} in time; what becomes of it is unknown`);
}

function responseIn(answer: unknown): Sealed {
  const shown = asObject(asObject(answer)?.['tx_response']);
  const events = Array.isArray(shown?.['events']) ? (shown['events'] as Sealed['events']) : [];
  const [txhash, log] = [textOf(shown?.['txhash'], ''), textOf(shown?.['raw_log'], '')];
  return { txhash, height: Number(shown?.['height']), code: Number(shown?.['code']), log, events };
}

function requireCarriedOut({ code, log }: Sealed): void {
  if (code === 0) return;
  throw new AppError('INVALID_ARGUMENT', `The chain does not carry the transaction out: ${log} (code ${code})`);
}

function asRefusal(caught: unknown): never {
  if (!(caught instanceof ChainFailure) || caught.words === undefined) throw caught;
  throw new AppError('INVALID_ARGUMENT', `The chain would not carry the transaction out: ${caught.words}`);
}

/** The sequence that a refusal of the chain names, in the words of all chains of the kind. */
function expectedSequence(caught: unknown): number | undefined {
  if (!(caught instanceof AppError) || caught.code !== 'INVALID_ARGUMENT') return undefined;
  const named = /account sequence mismatch, expected (\d{1,15}), got/.exec(caught.message)?.[1];
  return named === undefined ? undefined : Number(named);
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function textOf(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback;
}
