import { expect, it } from 'vitest';
import { createChainClient } from '../../../../src/edges/chain/rest/client.ts';
import { createChainActivity } from '../../../../src/edges/indexer/pages/chain-activity.ts';
import { ask, freshLog, playHistory, startLedger } from '../../ledger/ledger-under-test.ts';

it('the latest transactions of the chain come newest first, with the reasons of failures', async () => {
  await using undo = new AsyncDisposableStack();
  const fresh = undo.use(await freshLog());
  const ledger = undo.use(await startLedger(fresh.log));
  await playHistory(ledger, 30);
  const client = createChainClient(ledger.url, { restPrefix: '' });
  undo.defer(client.close);
  const activity = createChainActivity(client);
  const { height, transactions } = await activity();
  expect(height).toBe(ledger.status().height);
  const { body } = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=tx.height%3E%3D1&order_by=ORDER_BY_DESC&limit=24');
  const { tx_responses: all } = body as { tx_responses: { txhash: string; code: number; raw_log: string }[] };
  expect(transactions.map(({ hash, failure }) => [hash, failure])).toEqual(
    all.map(({ txhash, code, raw_log: log }) => [txhash, code === 0 ? null : log]),
  );
  expect(transactions[0]?.message).toMatch(/^Msg/);
  expect(await activity()).toEqual({ height, transactions });
});

it('a chain that is away is UNAVAILABLE', async () => {
  const client = createChainClient('http://127.0.0.1:1', { restPrefix: '' });
  await expect(createChainActivity(client)()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await client.close();
});
