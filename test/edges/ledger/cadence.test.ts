import { expect, test } from 'vitest';
import { cadenceOf } from '../../../src/edges/ledger/cadence.ts';
import { cast, freshLog, send, startLedger } from './ledger-under-test.ts';

const [alice, bob] = cast.creators.map(({ account }) => account);
const pay = (from = '', to = '') =>
  ({
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: from,
    to_address: to,
    amount: [{ denom: 'ulume', amount: '1' }],
  }) as const;

test(
  'blocks keep apart, empty ones come by themselves, and sooner once somebody looks',
  { tags: ['S1.evm.cadence'] },
  async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    let emptyMs: number | undefined;
    let hear: () => void = () => undefined;
    ledger.keep({ leastMs: 300, emptyMs: () => emptyMs, onChange: (hears) => (hear = hears) });
    const times: number[] = [];
    for (let one = 0; one < 3; one += 1) {
      await send(ledger, [pay(alice, bob)]);
      times.push(Date.parse(ledger.status().time));
    }
    for (const [index, time] of times.slice(1).entries())
      expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(300);
    const { height } = ledger.status();
    emptyMs = 300;
    hear();
    await expect.poll(() => ledger.status().height).toBeGreaterThanOrEqual(height + 2);
    expect(ledger.status().transactions).toBe(3);
  },
);

test('the cadence of a setting', { tags: ['S1.evm.cadence'] }, () => {
  const cadence = (blockTimeMs: number, sinceMs: number) =>
    cadenceOf(blockTimeMs, { sinceMs: () => sinceMs, onAsked: () => undefined });
  expect([cadence(0, 0).leastMs, cadence(0, 0).emptyMs()]).toEqual([0, undefined]);
  expect([cadence(2_000, 0).leastMs, cadence(2_000, 0).emptyMs()]).toEqual([1_000, 2_000]);
  expect(cadence(2_000, 60_001).emptyMs()).toBe(60_000);
});
