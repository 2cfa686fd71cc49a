import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SubmitTransactions } from '../../../src/commands/ledger/submit.ts';
import { dispatch } from '../../../src/edges/bus.ts';
import { signedTransaction } from '../../../src/edges/chain/sign/wallet.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLeases } from '../../../src/engine/log/leases.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { type Ledger, type LedgerOptions, runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { localBeginning, localChainId } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { until } from '../../support/polling.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';
import { ask, freshLog, seed, silent } from './ledger-under-test.ts';

const people = developmentAccounts().filter(({ key }) => key.type === 'secp256k1');
const wallets = developmentAccounts().filter(({ key }) => key.type === 'eth_secp256k1');
/** Hostile transactions of the property; a long run sets more. */
const hostile = Number(process.env['HOSTILE_TRANSACTIONS'] ?? 120);

/** A ledger whose development accounts have so many ulume each; it stops with the test. */
async function start(
  options: Pick<LedgerOptions, 'log'> & Partial<LedgerOptions>,
  balance = '40000',
): Promise<Ledger & AsyncDisposable> {
  const beginning = () => {
    const begun = localBeginning(seed, Date.now());
    const accounts = developmentAccounts().map(({ account }) => ({ address: account, balance }));
    return { ...begun, genesis: { ...begun.genesis, accounts } };
  };
  const { signal } = new AbortController();
  const ledger = await runLedger({
    execution: executeInMemory,
    beginning,
    host: '127.0.0.1',
    lcdPort: 0,
    logger: silent,
    signal,
    ...options,
  });
  return { ...ledger, [Symbol.asyncDispose]: ledger.stop };
}

function transfer(ledger: Ledger, from: number, { to = 9, amount = '1', ahead = 0 } = {}): Uint8Array {
  const person = people[from];
  const recipient = people[to]?.account ?? '';
  if (!person) throw new Error(`There is no account ${from}`);
  const { number, sequence } = ledger.signerInfo(person.account) ?? { number: 0, sequence: 0 };
  const coins = [{ denom: 'ulume', amount }];
  const message = {
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: person.account,
    to_address: recipient,
    amount: coins,
  } as const;
  return signedTransaction(person.key, [message], {
    chainId: localChainId,
    denom: 'ulume',
    number,
    sequence: sequence + ahead,
  });
}

/** The facts of each submission, in their order. */
async function lives(log: Log): Promise<Map<string, string[]>> {
  const { lastSequence } = await log.head('POOL');
  const found = new Map<string, string[]>();
  const { signal } = new AbortController();
  for await (const { facts } of log.follow('POOL', 0, { signal })) {
    for (const { fact } of facts) {
      const { hash } = fact.data as { hash: string };
      found.set(hash, [...(found.get(hash) ?? []), fact.type]);
    }
    if ((facts.at(-1)?.sequence ?? 0) >= lastSequence) return found;
  }
  return found;
}

test('every submission of hostile spenders has one fate, and blocks go on', async () => {
  await using fresh = await freshLog();
  await using ledger = await start(fresh);
  const { common, chainId } = ledger.ethereumTerms();
  const evm = fc.record({
    kind: fc.constant('evm' as const),
    from: fc.nat(4),
    nonce: fc.nat(6),
    value: fc.bigInt({ min: 0n, max: 60n * 10n ** 15n }),
    tip: fc.integer({ min: 1, max: 5 }),
  });
  const own = fc.record({
    kind: fc.constant('cosmos' as const),
    from: fc.nat(4),
    to: fc.nat(4),
    amount: fc.nat(30_000).map(String),
  });
  const sent = fc.sample(fc.oneof(evm, own), { numRuns: hostile, seed: 29 });
  const acknowledged = new Set<string>();
  const answers: Promise<unknown>[] = [];
  for (const one of sent) {
    if (one.kind === 'cosmos') {
      answers.push(ledger.submit(transfer(ledger, one.from, one)).catch(() => undefined));
      continue;
    }
    const key = wallets[one.from]?.key.bytes ?? new Uint8Array();
    const fees = {
      maxFeePerGas: BigInt(one.tip) * 10n ** 10n,
      maxPriorityFeePerGas: BigInt(one.tip),
      gasLimit: 21_000n,
    };
    const tx = createFeeMarket1559Tx(
      { chainId, nonce: BigInt(one.nonce), value: one.value, to: `0x${'5b'.repeat(20)}`, ...fees },
      { common },
    ).sign(key);
    const hash = `0x${Buffer.from(tx.hash()).toString('hex')}`;
    const at = new Date().toISOString();
    const submission = { kind: 'evm', hash, raw: Buffer.from(tx.serialize()).toString('base64'), at } as const;
    await dispatch(fresh.log, new SubmitTransactions(new Map([[hash, submission]]), { at }));
    acknowledged.add(hash);
  }
  await Promise.all(answers);
  const { height } = ledger.status();
  expect(await ledger.submit(transfer(ledger, 7))).toMatchObject({ code: 0 });
  expect(ledger.status().height).toBeGreaterThan(height);
  // What waits behind a gap has no fate before it expires.
  const settled = await until('what can run has a fate', async () => {
    const all = await lives(fresh.log);
    const open = [...all].filter(([, facts]) => (facts.at(-1) ?? '').endsWith('Submitted'));
    return open.every(([hash]) => acknowledged.has(hash)) && open.length < acknowledged.size && all;
  });
  for (const [hash, facts] of settled) {
    const fates = facts.filter((type) => !type.endsWith('Submitted'));
    expect(facts.length - fates.length - fates.length, `${hash}: ${facts.join(', ')}`).toBeLessThanOrEqual(1);
    expect(fates.filter((type) => type === 'SubmissionSealed').length).toBeLessThanOrEqual(1);
  }
});

test('a ledger that stands by takes transactions, and the one that seals puts them into blocks', async () => {
  const network = freshNetwork();
  const nc = await connectNats({ ...testNats(), name: 'standby test' });
  await ensureStreams(nc, network);
  const options = () => ({ log: createLog(nc, network), leases: createLeases(nc, network) });
  try {
    await using one = await start(options());
    expect(await one.submit(transfer(one, 0))).toMatchObject({ code: 0 });
    await using standby = await start(options());
    expect(await standby.submit(transfer(standby, 1))).toMatchObject({ code: 0 });
    const body = JSON.stringify({
      tx_bytes: Buffer.from(transfer(standby, 2)).toString('base64'),
      mode: 'BROADCAST_MODE_SYNC',
    });
    const { body: answer } = await ask(standby, '/cosmos/tx/v1beta1/txs', { method: 'POST', body });
    expect(answer).toMatchObject({ tx_response: { code: 0 } });
    await one.stop();
    expect(await standby.submit(transfer(standby, 3)), 'it takes over').toMatchObject({ code: 0 });
  } finally {
    await nc.close();
  }
});
