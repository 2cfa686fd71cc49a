import { expect, test } from 'vitest';
import { localEvmConfig, timestampAfter } from '../../../src/edges/ledger/evm-chain.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { headerFault, plainRules } from '../../support/expected/header-rules.ts';
import { freshLog, playHistory, seed, startLedger } from '../ledger/ledger-under-test.ts';
import { ethereumTransaction, pay, sealedBlocks } from './mixed-history.ts';

test(
  'an importing client finds no fault in a header: scripted past, blocks on demand, both kinds of transactions',
  { tags: ['S1.evm.cadence', 'S1.evm.accounts'] },
  async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    await playHistory(ledger);
    for (let nonce = 0; nonce < 6; nonce += 1) {
      const sent = ledger.submitEthereum(ethereumTransaction(ledger, nonce, { to: `0x${'5b'.repeat(20)}`, value: 1n }));
      await pay(ledger, 1n);
      await sent;
    }
    const { genesis, time } = localBeginning(seed, Date.parse(ledger.status().startedAt));
    const common = plainRules(localEvmConfig(time, genesis).genesis);
    const blocks = (await sealedBlocks(fresh.log)).map(({ evm }) => Buffer.from(evm?.block ?? '', 'base64'));
    const faults = blocks.slice(1).map((block, index) => headerFault(blocks[index] ?? block, block, common));
    expect(faults.length).toBeGreaterThan(40);
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  },
);

test('the timestamp of a block is its time, and later than its parent’s', { tags: ['S1.evm.cadence'] }, () => {
  const time = '2026-01-02T03:04:05.999Z';
  const seconds = BigInt(Date.parse('2026-01-02T03:04:05Z') / 1000);
  expect([seconds - 1n, seconds, seconds + 7n].map((parent) => timestampAfter(parent, time))).toEqual([
    seconds,
    seconds + 1n,
    seconds + 8n,
  ]);
});
