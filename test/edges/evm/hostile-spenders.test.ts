import { createAddressFromString, createContractAddress } from '@ethereumjs/util';
import { createContract, parseAbi } from 'micro-eth-signer/abi.js';
import { expect, test } from 'vitest';
import { signedTransaction } from '../../../src/edges/chain/sign/wallet.ts';
import { actionAbi } from '../../../src/edges/evm/contracts/abi.ts';
import { localEvmConfig } from '../../../src/edges/ledger/evm-chain.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { type Random, randomOf } from '../../../src/edges/local-network/random.ts';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { headerFault, plainRules } from '../../support/expected/header-rules.ts';
import { freshLog, seed } from '../ledger/ledger-under-test.ts';
import { creationOf, ethereumTransaction, sealedBlocks, startReadLedger, tracedGas } from './mixed-history.ts';

type Hex = `0x${string}`;

/** More of them: `HOSTILE_TRANSACTIONS=10000 HOSTILE_SEED=2 npm test -- test/edges/evm/hostile-spenders.test.ts`. */
const transactions = Number(process.env['HOSTILE_TRANSACTIONS'] ?? 60);
const seeded = process.env['HOSTILE_SEED'] ?? '1';
/** Most time between two blocks by the chain's own clock, where a long run on a quiet machine sets it. */
const mostBlockMs = Number(process.env['HOSTILE_BLOCK_MS'] ?? Infinity);
const mostFactBytes = 6_000_000;
const perRound = 20;
const wallets = developmentAccounts().filter(({ key }) => key.type === 'eth_secp256k1');
const people = developmentAccounts().filter(({ key }) => key.type === 'secp256k1');
const contract = createContract(parseAbi([...actionAbi]));
const hex = (bytes: Uint8Array | undefined): Hex => `0x${Buffer.from(bytes ?? []).toString('hex')}`;

/** Calls the contract of actions with its own input, with all gas or with little, until less than a million is left. */
const relayCode = (gas: string): string => `365f5f375b5f5f365f5f610901${gas}f150620f42405a1160045700`;
/** Writes 10,000 bytes as a log, so often as its input says. */
const writerCode = '60015f555f355b80156018576127105fa0600190036006565b00';
/** Reads one account after the other. */
const readerCode = '5f5b600101803150600156';
const codes = [relayCode('5a'), relayCode('610c80'), writerCode, readerCode];

/** Input of the contract of actions. */
function input(random: Random): Hex {
  const page = { offset: BigInt(random.between(0, 50)), limit: 100n };
  const text = random.pick(['\u0001', '"', 'a', '\ud800']).repeat(random.between(1, 2_500));
  const commitment = {
    commitmentType: '',
    hashAlgo: 0n,
    chunkSize: 0n,
    totalSize: 0n,
    numChunks: 0n,
    root: new Uint8Array(),
    challengeIndices: [],
  };
  const requested = {
    dataHash: 'a hash',
    fileName: text.slice(0, random.between(1, 1_100)),
    rqIdsIc: 1n,
    signatures: text,
    price: 10_060n,
    expirationTime: BigInt(Math.floor(Date.now() / 1000) + random.between(40, 500)),
    fileSizeKbs: 1n,
    commitment,
  };
  return random.pick([
    () => hex(contract['requestCascade']?.encodeInput(requested)),
    () => hex(contract['getActionsByState']?.encodeInput({ state: 1n, ...page })),
    () => hex(random.bytes(40)),
  ])();
}

/** Fields of a transaction that harms: rows, lists of everything, floods of logs, reads, or nothing but a transfer. */
function harm(random: Random, contracts: readonly Hex[]) {
  const gasLimit = BigInt(random.pick([200_000, 2_000_000, 12_000_000, 25_000_000]));
  const word: Hex = `0x${random.between(0, 300).toString(16).padStart(64, '0')}`;
  const [rows, lists, logs, reads] = contracts;
  return random.pick([
    () => ({ to: rows, data: input(random), gasLimit }),
    () => ({ to: lists, data: input(random), gasLimit }),
    () => ({ to: logs, data: word, gasLimit }),
    () => ({ to: reads, gasLimit: gasLimit / 4n }),
    () => ({ to: people[0]?.hex, value: BigInt(random.between(0, 1_000)), gasLimit: 30_000n }),
  ])() as Readonly<{ to: Hex; data?: Hex; value?: bigint; gasLimit: bigint }>;
}

test(
  'hostile spenders of both kinds stop nothing: facts stay small, headers valid, traces true',
  { tags: ['S1.evm.accounts', 'S1.evm.contracts', 'S1.evm.cadence'], timeout: 60_000 + transactions * 2_000 },
  async () => {
    const random = randomOf(`${seeded}/hostile`);
    await using fresh = await freshLog();
    await using started = await startReadLedger(fresh.log);
    const { ledger, reader } = started;
    const sender = createAddressFromString(wallets[0]?.hex ?? '');
    for (const [nonce, code] of codes.entries())
      await ledger.submitEthereum(ethereumTransaction(ledger, nonce, { data: creationOf(code), gasLimit: 1_000_000n }));
    const contracts = codes.map((_, nonce) => createContractAddress(sender, BigInt(nonce)).toString());
    const value = 10n ** 20n;
    await ledger.submitEthereum(ethereumTransaction(ledger, codes.length, { to: contracts[0] ?? '0x', value }));

    for (let sent = 0; sent < transactions; sent += perRound) {
      for (let one = 0; one < perRound; one += 1) void submit(ledger, random, contracts).catch(() => undefined);
      const honest = wallets.at(-1);
      const nonce = ledger.signerInfo(honest?.account ?? '')?.sequence ?? 0;
      const fields = { to: contracts[2] ?? '0x', by: honest?.key.bytes };
      expect(await ledger.submitEthereum(ethereumTransaction(ledger, nonce, fields))).toMatchObject({ code: 0 });
    }

    const blocks = await sealedBlocks(fresh.log);
    const sizes = blocks.map((block) => Buffer.byteLength(JSON.stringify(block)));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(mostFactBytes);
    const { genesis, time } = localBeginning(seed, Date.now());
    const common = plainRules(localEvmConfig(time, genesis).genesis);
    const headers = blocks.map(({ evm }) => Buffer.from(evm?.block ?? '', 'base64'));
    const faults = headers.slice(1).map((block, at) => headerFault(headers[at] ?? block, block, common));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    const gas = await tracedGas(reader(), blocks);
    expect(gas.filter(({ sealed, traced }) => sealed !== traced)).toEqual([]);
    const times = blocks.map(({ time: sealedAt }) => Date.parse(sealedAt));
    const apartMs = times.slice(1).map((at, index) => at - (times[index] ?? at));
    console.log(
      `hostile spenders: ${blocks.length} blocks, ${gas.length} transactions, largest fact ${Math.max(...sizes)} bytes, ` +
        `blocks at most ${Math.max(...apartMs)} ms apart, ${apartMs.filter((ms) => ms > 3_000).length} more than 3 s`,
    );
    expect(Math.max(...apartMs)).toBeLessThanOrEqual(mostBlockMs);
    // The hostile ones soon have nothing left to pay with; the honest one of each round is always sealed.
    expect(gas.length).toBeGreaterThan(transactions / perRound);
  },
);

/** The nonce after those that a wallet has sent in a row. */
const planned = new Map<string, number>();

/** Submits a transaction of either kind; some repeat a nonce, some leave a gap, some spend all but their fee. */
async function submit(ledger: Ledger, random: Random, contracts: readonly Hex[]): Promise<void> {
  if (random.fraction() < 0.3) return await spend(ledger, random);
  const wallet = wallets[random.between(0, 5)];
  const { sequence } = ledger.signerInfo(wallet?.account ?? '') ?? { sequence: 0 };
  const next = Math.max(planned.get(wallet?.account ?? '') ?? 0, sequence);
  const ahead = random.pick([0, 0, 0, 0, 0, 0, -1, 3]);
  if (ahead === 0) planned.set(wallet?.account ?? '', next + 1);
  const nonce = Math.max(next + ahead, 0);
  await ledger.submitEthereum(
    ethereumTransaction(ledger, nonce, { ...harm(random, contracts), by: wallet?.key.bytes }),
  );
}

async function spend(ledger: Ledger, random: Random): Promise<void> {
  const [from, to] = [people[random.between(0, 3)], people[random.between(0, 3)]];
  const info = ledger.signerInfo(from?.account ?? '');
  if (!from || !to || !info) return;
  const amount = random.pick(['1', '999999990000', '500000000000', '0', '-1']);
  const message = {
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: from.account,
    to_address: to.account,
    amount: [{ denom: 'ulume', amount }],
  } as const;
  const { chainId } = ledger.status();
  await ledger.submit(signedTransaction(from.key, [message], { chainId, denom: 'ulume', ...info }));
}
