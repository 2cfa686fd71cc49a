import { createContractAddress, createAddressFromString } from '@ethereumjs/util';
import { expect, test } from 'vitest';
import { accountOfEvm } from '../../../src/edges/chain/sign/addresses.ts';
import { storage } from '../../../src/edges/evm/executor/state/account-reads.ts';
import { type StructTrace, trace } from '../../../src/edges/evm/executor/trace.ts';
import { openingItem } from '../../../src/edges/evm/chain/opening-item.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
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
    ledger.keep({ leastMs: 250, emptyMs: () => undefined, onChange: () => undefined });
    for (let nonce = 2; nonce < 10; nonce += 2) {
      await Promise.all([
        pay(ledger, BigInt(nonce), accountOfEvm(paid)),
        ledger.submitEthereum(ethereumTransaction(ledger, nonce, { to: balances })),
        ledger.submitEthereum(ethereumTransaction(ledger, nonce + 1, { to: coinbases })),
      ]);
    }
    const blocks = await sealedBlocks(fresh.log);
    expect(blocks.some(({ transactions, evm }) => transactions.length > 0 && (evm?.receipts.length ?? 0) > 1)).toBe(
      true,
    );
    const gas = await tracedGas(reader(), blocks);
    expect(gas).toHaveLength(10);
    expect(gas.filter(({ sealed, traced }) => sealed !== traced)).toEqual([]);

    const [parent, last] = [blocks.at(-2)?.evm, blocks.at(-1)?.evm];
    const head = (await reader().nodes.head())?.rlp ?? new Uint8Array();
    const traces = await trace(reader(), {
      parent: (await reader().nodes.header(BigInt(blocks.length - 1)))?.rlp ?? new Uint8Array(),
      block: new Uint8Array(Buffer.from(last?.block ?? '', 'base64')),
      opening: last?.opening && openingItem(last.opening),
      options: {},
    });
    expect(parent).toBeDefined();
    const shown = traces.map(({ result }) => (result as StructTrace).structLogs);
    const stored = shown.map((logs) => logs.findLast(({ op }) => op === 'SSTORE')?.storage?.[slot]);
    const now = await Promise.all(
      [balances, coinbases].map(async (address) => await storage(reader(), { at: head, address, slots: [slot] })),
    );
    expect(stored).toEqual(now.map(([word]) => `0x${Buffer.from(word ?? []).toString('hex')}`).slice(-stored.length));
  },
);
