import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { signedTransaction } from '../../../src/edges/chain/sign/wallet.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import type { OpenExecution } from '../../../src/edges/ledger/evm-chain.ts';
import { type Ledger, runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { localBeginning, localChainId } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import type { Logger } from '../../../src/kit/logger.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { until } from '../../support/polling.ts';
import { freshLog, seed, silent } from './ledger-under-test.ts';

const people = developmentAccounts().filter(({ key }) => key.type === 'secp256k1');
const wallets = developmentAccounts().filter(({ key }) => key.type === 'eth_secp256k1');
const person = (index: number) => people[index] ?? expect.fail(`there is no account ${index}`);

/** A ledger whose development accounts have so many ulume each; it stops with the test. */
async function rich(
  log: Log,
  balance: string,
  { execution = executeInMemory, logger = silent }: { execution?: OpenExecution; logger?: Logger } = {},
): Promise<Ledger & AsyncDisposable> {
  const beginning = () => {
    const begun = localBeginning(seed, Date.now());
    const accounts = developmentAccounts().map(({ account }) => ({ address: account, balance }));
    return { ...begun, genesis: { ...begun.genesis, accounts } };
  };
  const { signal } = new AbortController();
  const options = { log, beginning, host: '127.0.0.1', lcdPort: 0, logger, signal };
  const ledger = await runLedger({ ...options, execution });
  return { ...ledger, [Symbol.asyncDispose]: ledger.stop };
}

/** A signed transfer; the fee is 2,000 ulume. */
function transfer(
  ledger: Ledger,
  from: number,
  { to = 9, amount = '1', sequence }: { to?: number; amount?: string; sequence?: number } = {},
) {
  const { key, account } = person(from);
  const info = ledger.signerInfo(account) ?? { number: 0, sequence: 0 };
  const message = {
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: account,
    to_address: person(to).account,
    amount: [{ denom: 'ulume', amount }],
  } as const;
  return signedTransaction(key, [message], {
    chainId: localChainId,
    denom: 'ulume',
    ...info,
    sequence: sequence ?? info.sequence,
  });
}

/** Code that asks for a power by an exponent of a megabyte, for which the library takes half an hour. */
const longPower = Buffer.from(
  '60015f52620f4240602052600160405260ff60605360ff6061536003620f42a1535f5f620f42a25f60055afa00',
  'hex',
);

/** A log that holds blocks back from `hold` until `release`. */
function holdable(log: Log): { log: Log; hold: () => void; release: () => void } {
  let held = Promise.withResolvers<void>();
  held.resolve();
  const append: Log['append'] = async (...decisions) => {
    if (decisions[0].some(({ kind }) => kind === 'ledger')) await held.promise;
    return await log.append(...decisions);
  };
  return {
    log: { ...log, append },
    hold: () => (held = Promise.withResolvers<void>()),
    release: () => held.resolve(),
  };
}

const isRunning = async (ledger: Ledger): Promise<boolean> =>
  await Promise.race([ledger.failed.catch(() => false), Promise.resolve(true)]);

test('a transaction whose fee the one before it in the block has spent is refused, and the chain goes on', async () => {
  await using fresh = await freshLog();
  const held = holdable(fresh.log);
  await using ledger = await rich(held.log, '10000');
  held.hold();
  const first = ledger.submit(transfer(ledger, 1));
  const emptying = ledger.submit(transfer(ledger, 0, { amount: '7000' }));
  const unpaid = ledger.submit(transfer(ledger, 0)).catch((caught: unknown) => caught);
  held.release();
  expect((await first).code).toBe(0);
  expect((await emptying).code).toBe(0);
  expect(await unpaid).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('insufficient funds'),
  });
  expect(await isRunning(ledger)).toBe(true);
  expect(await ledger.submit(transfer(ledger, 2))).toMatchObject({ code: 0 });
});

test('spenders who empty their accounts at random stop nothing, and every submission is answered', async () => {
  const spending = fc.record({ from: fc.nat(3), to: fc.nat(3), amount: fc.nat(9_000).map(String) });
  await fc.assert(
    fc.asyncProperty(fc.array(spending, { minLength: 1, maxLength: 40 }), async (spendings) => {
      await using fresh = await freshLog();
      await using ledger = await rich(fresh.log, '10000');
      const sent = spendings.map(({ from, to, amount }) => ledger.submit(transfer(ledger, from, { to, amount })));
      for (const one of await Promise.allSettled(sent))
        if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(await ledger.submit(transfer(ledger, 5))).toMatchObject({ code: 0 });
    }),
    { numRuns: 10, seed: 17 },
  );
});

test('a transaction that the executor fails at is dropped, and those beside it are sealed', async () => {
  await using fresh = await freshLog();
  const [poisoner, other] = wallets;
  if (!poisoner || !other) throw new Error('there are no wallets');
  const open: OpenExecution = (config) => {
    const real = executeInMemory(config);
    const seal: typeof real.seal = async (parent, attributes, items) => {
      if (items.some((item) => item.kind === 'transaction' && Buffer.from(item.raw).equals(Buffer.from(poison))))
        throw new RangeError('Invalid array length');
      return await real.seal(parent, attributes, items);
    };
    return { ...real, seal };
  };
  let poison: Uint8Array = new Uint8Array();
  await using ledger = await rich(fresh.log, '10000000', { execution: open });
  const { common, chainId, baseFee } = ledger.ethereumTerms();
  const fees = { maxFeePerGas: baseFee * 10n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n, chainId, nonce: 0n };
  const pay = (key: Uint8Array) =>
    createFeeMarket1559Tx({ ...fees, to: person(9).hex as `0x${string}` }, { common }).sign(key);
  poison = pay(poisoner.key.bytes).serialize();
  void ledger.submitEthereum(poison).catch(() => undefined);
  const [sealed] = await Promise.all([
    ledger.submitEthereum(pay(other.key.bytes).serialize()),
    ledger.submit(transfer(ledger, 5)),
  ]);
  expect(sealed).toMatchObject({ code: 0 });
  expect(await isRunning(ledger)).toBe(true);
});

test('after a transaction that takes too long, those that may take long wait for all others', async () => {
  await using fresh = await freshLog();
  const held = holdable(fresh.log);
  const blocks: string[][] = [];
  const refusals: string[] = [];
  const open: OpenExecution = (config) => {
    const real = executeInMemory(config);
    const seal: typeof real.seal = async (parent, attributes, items) => {
      const sealed = await real.seal(parent, attributes, items);
      for (const outcome of sealed.outcomes) if (outcome.kind === 'refused') refusals.push(outcome.reason);
      blocks.push(
        items.flatMap((item) => (item.kind === 'transaction' ? [Buffer.from(item.raw).toString('hex')] : [])),
      );
      return sealed;
    };
    return { ...real, seal };
  };
  await using ledger = await rich(held.log, '10000000', { execution: open });
  const { common, chainId, baseFee } = ledger.ethereumTerms();
  const submit = async (wallet: number, changes: Readonly<{ gasLimit: bigint; tip?: bigint; data?: Uint8Array }>) => {
    const { gasLimit, tip = 0n, data = new Uint8Array() } = changes;
    const fees = { maxFeePerGas: baseFee * 10n, maxPriorityFeePerGas: tip, gasLimit, chainId, nonce: 0n };
    const to = data.length > 0 ? undefined : (person(9).hex as `0x${string}`);
    const key = (wallets[wallet] ?? expect.fail('there is no wallet')).key.bytes;
    const raw = createFeeMarket1559Tx({ ...fees, data, ...(to && { to }) }, { common })
      .sign(key)
      .serialize();
    const hash = Buffer.from(raw).toString('hex');
    return { hash, sealed: ledger.submitEthereum(raw).catch((caught: unknown) => caught) };
  };
  void submit(0, { gasLimit: 20_000_000n, data: longPower });
  await until('it is refused', () => Promise.resolve(refusals.some((reason) => reason.includes('longer'))));
  held.hold();
  const before = await submit(1, { gasLimit: 21_000n });
  await until('a block is on its way', () => Promise.resolve(blocks.some((block) => block.includes(before.hash))));
  const heavy = await submit(2, { gasLimit: 5_000_000n, tip: baseFee });
  const quick = await submit(3, { gasLimit: 21_000n });
  await until('both wait', async () => (await fresh.log.head('POOL')).lastSequence >= 5);
  held.release();
  await Promise.all([heavy.sealed, quick.sealed]);
  expect(blocks.findLast((block) => block.includes(heavy.hash))).toEqual([quick.hash, heavy.hash]);
});

test('a head of the future stops nothing: blocks go on from its time, and readiness warns', async () => {
  await using fresh = await freshLog();
  await using ledger = await rich(fresh.log, '10000000');
  const ahead = Date.now() + 3_600_000;
  expect(ledger.obstacles()).toEqual([]);
  await ledger.submit(transfer(ledger, 0), ahead);
  expect(await ledger.submit(transfer(ledger, 0))).toMatchObject({ code: 0 });
  expect(Date.parse(ledger.status().time)).toBe(ahead + 1000);
  expect(ledger.obstacles()).toEqual([
    expect.stringMatching(/^The last block is 3\d{3} s ahead of this machine's clock/),
  ]);
});

test('a clock that leaps, ahead and back, is logged and stops nothing', async () => {
  await using fresh = await freshLog();
  const leaps: number[] = [];
  const write = (line: string): void => {
    const { leapMs } = JSON.parse(line) as { leapMs?: number };
    if (leapMs !== undefined) leaps.push(Math.round(leapMs / 60_000));
  };
  await using ledger = await rich(fresh.log, '10000000', { logger: pino({ level: 'warn' }, { write }) });
  onTestFinished(() => void vi.useRealTimers());
  const startedAt = performance.now();
  const start = Date.now();
  for (const aheadMs of [0, 3_600_000, 0]) {
    vi.useFakeTimers({ toFake: ['Date'], now: start + aheadMs + performance.now() - startedAt });
    expect(await ledger.submit(transfer(ledger, 0))).toMatchObject({ code: 0 });
  }
  expect(leaps).toEqual([60, -60]);
});
