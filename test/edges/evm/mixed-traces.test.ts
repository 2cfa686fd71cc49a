import { createContractAddress, createAddressFromString } from '@ethereumjs/util';
import { expect, test } from 'vitest';
import { accountOfEvm } from '../../../src/edges/chain/sign/addresses.ts';
import { storage } from '../../../src/edges/evm/executor/state/account-reads.ts';
import { type StructTrace, trace } from '../../../src/edges/evm/executor/trace.ts';
import { openingItem } from '../../../src/edges/evm/chain/opening-item.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import { until } from '../../support/polling.ts';
import { freshLog } from '../ledger/ledger-under-test.ts';
import { creationOf, ethereumTransaction, pay, sealedBlocks, startReadLedger, tracedGas } from './mixed-history.ts';

type Hex = `0x${string}`;

const sender = developmentAccounts().find(({ key }) => key.type === 'eth_secp256k1')?.hex ?? '';
const slot: Hex = `0x${'0'.repeat(64)}`;

test(
  'traces of blocks with Cosmos transactions show what happened: gas as in the receipts, balances as they were',
  { tags: ['S1.evm.accounts'] },
  async () => {
    await using fresh = await freshLog();
    await using started = await startReadLedger(fresh.log);
    const { ledger, reader } = started;
    const [balances, coinbases] = [0, 1].map((nonce) =>
      createContractAddress(createAddressFromString(sender), BigInt(nonce)).toString(),
    ) as [Hex, Hex];
    const paid: Hex = `0x${'77'.repeat(20)}`;
    await ledger.submitEthereum(ethereumTransaction(ledger, 0, { data: creationOf(`73${paid.slice(2)}315f5500`) }));
    await ledger.submitEthereum(ethereumTransaction(ledger, 1, { data: creationOf('41315f5500') }));
    let leastMs = 3_600_000;
    let wake = (): void => undefined;
    const cadence = { emptyMs: () => undefined, onChange: (hear: () => void) => (wake = hear) };
    ledger.keep({
      ...cadence,
      get leastMs() {
        return leastMs;
      },
    });
    const submitted = async () => (await fresh.log.head('POOL')).lastSequence;
    for (let nonce = 2; nonce < 10; nonce += 2) {
      const before = await submitted();
      const sealed = Promise.all([
        pay(ledger, BigInt(nonce), accountOfEvm(paid)),
        ledger.submitEthereum(ethereumTransaction(ledger, nonce, { to: balances })),
        ledger.submitEthereum(ethereumTransaction(ledger, nonce + 1, { to: coinbases })),
      ]);
      await until('all three wait', async () => (await submitted()) >= before + 3);
      leastMs = 0;
      wake();
      await sealed;
      leastMs = 3_600_000;
    }
    const blocks = await sealedBlocks(fresh.log);
    expect(blocks.some(({ transactions, evm }) => transactions.length > 0 && (evm?.receipts.length ?? 0) > 1)).toBe(
      true,
    );
    const gas = await tracedGas(reader(), blocks);
    expect(gas).toHaveLength(10);
    expect(gas.filter(({ sealed, traced }) => sealed !== traced)).toEqual([]);

    // What came last may be a Cosmos transaction in a block of its own.
    const at = blocks.findLastIndex(({ evm }) => (evm?.receipts.length ?? 0) > 0);
    const last = blocks[at]?.evm;
    const head = (await reader().nodes.head())?.rlp ?? new Uint8Array();
    const traces = await trace(reader(), {
      parent: (await reader().nodes.header(BigInt(at)))?.rlp ?? new Uint8Array(),
      block: new Uint8Array(Buffer.from(last?.block ?? '', 'base64')),
      opening: last?.opening && openingItem(last.opening),
      options: {},
    });
    expect(traces.length).toBeGreaterThan(0);
    const shown = traces.map(({ result }) => (result as StructTrace).structLogs);
    const stored = shown.map((logs) => logs.findLast(({ op }) => op === 'SSTORE')?.storage?.[slot]);
    const now = await Promise.all(
      [balances, coinbases].map(async (address) => await storage(reader(), { at: head, address, slots: [slot] })),
    );
    expect(stored).toEqual(now.map(([word]) => `0x${Buffer.from(word ?? []).toString('hex')}`).slice(-stored.length));
  },
);
