import { describe, expect, test } from 'vitest';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { playActivity } from '../../../src/edges/local-network/activity.ts';
import { timeline } from '../../../src/edges/local-network/timeline.ts';
import type { ChainEvent } from '../../../src/commands/ledger/draft.ts';
import { ask, cast, freshLog, seed, silent, startLedger } from '../ledger/ledger-under-test.ts';

const historySteps = countHistory();

function countHistory(): number {
  let steps = 0;
  for (const { isHistory } of timeline(seed)) {
    if (!isHistory) break;
    steps += 1;
  }
  return steps;
}

/** Plays so many live deeds without any waiting in between. */
async function play(ledger: Ledger, deeds: number): Promise<void> {
  const stop = new AbortController();
  let waits = 0;
  const wait = async () => void (waits++ === deeds && stop.abort());
  await playActivity({ ledger, seed, logger: silent, signal: stop.signal, wait });
}

/** Every transaction's messages in order, without what depends on the clock. */
async function transactionsOf(ledger: Ledger): Promise<unknown[]> {
  const { body } = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=tx.height%3E%3D1&limit=100');
  const { txs } = body as { txs: { body: { messages: object[] } }[] };
  return txs.map(({ body: { messages } }) => messages.map((message) => ({ ...message, expirationTime: '', raw: '' })));
}

describe('playActivity', () => {
  test('writes a history in which every state is seen, all of it in the past', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    await play(ledger, 0);
    expect(ledger.status().transactions).toBe(historySteps);
    expect(Date.parse(ledger.status().time)).toBeLessThanOrEqual(Date.now());
    const count = async (filter: string) => {
      const { body } = await ask(ledger, `/LumeraProtocol/lumera/action/v1/list_actions?${filter}`);
      return Number((body as { total: string }).total);
    };
    for (const state of ['PENDING', 'DONE', 'APPROVED', 'EXPIRED'])
      expect(await count(`actionState=ACTION_STATE_${state}`)).toBeGreaterThan(0);
    expect(await count('actionType=ACTION_TYPE_SENSE&actionState=ACTION_STATE_DONE')).toBeGreaterThan(0);
    const rejected = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=action_finalization_rejected.action_id%20EXISTS');
    expect(rejected.body).toMatchObject({ total: expect.not.stringMatching(/^0$/), tx_responses: [{ code: 0 }] });
  });

  test('does the same for the same seed, stopped and started again in between or not', async () => {
    await using one = await freshLog();
    await using other = await freshLog();
    await using whole = await startLedger(one.log);
    await play(whole, 12);
    {
      await using begun = await startLedger(other.log);
      await play(begun, 5);
      expect(begun.status().transactions).toBe(historySteps + 5);
    }
    await using continued = await startLedger(other.log);
    await play(continued, 7);
    const transactions = await transactionsOf(whole);
    expect(transactions).toHaveLength(historySteps + 12);
    expect(await transactionsOf(continued)).toEqual(transactions);
  });

  test('lets one creator register Cascade actions by contract, as a wallet does', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    const { account } = cast.creators.at(-1) ?? cast.bystander;
    await play(ledger, deedsUntilContract());
    const { body } = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=ethereum_tx.ethereumTxHash%20EXISTS');
    const { tx_responses: found } = body as { tx_responses: { txhash: string; events: ChainEvent[] }[] };
    expect(found).toHaveLength(1);
    const registered = found[0]?.events.find(({ type }) => type === 'action_registered');
    expect(registered?.attributes).toContainEqual(expect.objectContaining({ key: 'creator', value: account }));
  });
});

/** How many live deeds there are up to the first that a contract does. */
function deedsUntilContract(): number {
  let deeds = 0;
  for (const { deed, isHistory } of timeline(seed)) {
    if (isHistory) continue;
    deeds += 1;
    const [one, ...others] = deed.kind === 'register' ? deed.registrations : [];
    if (one && others.length === 0 && !one.isSense && one.creator === cast.creators.length - 1) return deeds;
  }
  return deeds;
}
