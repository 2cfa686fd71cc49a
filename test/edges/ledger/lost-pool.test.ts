import { jetstreamManager } from '@nats-io/jetstream';
import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { headers } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { SubmitTransactions } from '../../../src/commands/ledger/submit.ts';
import { dispatch } from '../../../src/edges/bus.ts';
import { submissionFrom } from '../../../src/edges/evm/pool/submit.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams, streamName } from '../../../src/engine/log/streams.ts';
import { until } from '../../support/polling.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';
import { startLedger } from './ledger-under-test.ts';

const wallets = developmentAccounts().filter(({ key }) => key.type === 'eth_secp256k1');

/** A ledger over a log of its own, and transactions for it. */
async function open() {
  const network = freshNetwork();
  const undo = new AsyncDisposableStack();
  const nc = await connectNats({ ...testNats(), name: 'ledger test' });
  undo.defer(() => nc.close());
  await ensureStreams(nc, network);
  const log = createLog(nc, network);
  const ledger = undo.use(await startLedger(log));
  let failure: unknown;
  ledger.failed.catch((caught: unknown) => (failure = caught));
  const { common, chainId } = ledger.ethereumTerms();
  const signed = (from: number, nonce: bigint) => {
    const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n };
    const transaction = createFeeMarket1559Tx({ chainId, nonce, to: `0x${'5b'.repeat(20)}`, ...fees }, { common });
    const sent = transaction.sign(wallets[from]?.key.bytes ?? new Uint8Array());
    return { hash: `0x${Buffer.from(sent.hash()).toString('hex')}`, bytes: sent.serialize() };
  };
  return {
    network,
    manager: await jetstreamManager(nc),
    nc,
    ledger,
    signed,
    submit: async (...all: ReturnType<typeof signed>[]): Promise<void> => {
      const submissions = new Map(all.map((one) => [one.hash, submissionFrom('evm', one)]));
      await dispatch(log, new SubmitTransactions(submissions, { at: new Date().toISOString() }));
    },
    typeOf: async (hash: string) => (await log.last('submission', [hash])).get(hash)?.fact.type,
    failure: () => failure,
    [Symbol.asyncDispose]: () => undo.disposeAsync(),
  };
}

test('a ledger whose POOL is lost writes what waits in it anew, and seals that and what came meanwhile', async () => {
  await using opened = await open();
  const { nc, network, manager, ledger, signed, submit, typeOf } = opened;
  const waiting = signed(1, 1n);
  await submit(waiting);
  await ledger.submitEthereum(signed(2, 0n).bytes);
  await manager.streams.delete(streamName('POOL', network));
  await ensureStreams(nc, network);
  // As long as the lost one at once.
  await submit(signed(3, 1n), signed(4, 1n), signed(5, 1n), signed(6, 1n));

  await until('what waits is in the log again', async () => (await typeOf(waiting.hash)) === 'EvmTransactionSubmitted');
  await Promise.all([1, 3, 4, 5, 6].map((from) => ledger.submitEthereum(signed(from, 0n).bytes)));
  for (const from of [1, 3, 4, 5, 6]) {
    const { hash } = signed(from, 1n);
    await until('each is sealed', async () => (await typeOf(hash)) === 'SubmissionSealed');
  }
  expect(opened.failure()).toBeUndefined();
});

test('a ledger whose POOL comes back with a hole writes what waits and is gone anew', async () => {
  await using opened = await open();
  const { nc, network, manager, ledger, signed, submit, typeOf } = opened;
  const [gone, last] = [signed(1, 1n), signed(2, 1n)];
  await submit(gone);
  await submit(last);
  const after = signed(3, 0n);
  await ledger.submitEthereum(after.bytes);
  await until('the ledger has read them', async () => (await typeOf(after.hash)) === 'SubmissionSealed');
  const name = streamName('POOL', network);
  const { config } = await manager.streams.info(name);
  const left = await Promise.all([2, 3, 4].map((seq) => manager.streams.getMessage(name, { seq })));
  await manager.streams.delete(name);
  await manager.streams.add({ ...config, first_seq: 2 });
  for (const one of left)
    await nc.request(one?.subject ?? '', one?.data, { headers: one?.header ?? headers(), timeout: 5_000 });

  await until('what waits is in the log again', async () => (await typeOf(gone.hash)) === 'EvmTransactionSubmitted');
  await Promise.all([1, 2].map((from) => ledger.submitEthereum(signed(from, 0n).bytes)));
  for (const { hash } of [gone, last])
    await until('each is sealed', async () => (await typeOf(hash)) === 'SubmissionSealed');
  expect(opened.failure()).toBeUndefined();
});
