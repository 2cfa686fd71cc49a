import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resultInTurns, resultText } from '../../../src/edges/json-rpc/answers.ts';
import { jsonInTurns, JsonText, LongList } from '../../../src/edges/json-rpc/long-list.ts';

const row = (at: number): object => ({ at, topics: ['0x1', '0x2'], none: undefined, text: '"\u2028\ud83d' });

test('jsonInTurns writes what JSON.stringify does, whatever is long', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ noUnicodeString: false }), fc.nat(200), async (value, length) => {
      const list = Array.from({ length }, (_, at) => (at % 7 === 0 ? value : row(at)));
      const whole = { before: value, list, left: undefined, lazy: list.map((one) => ({ one })), after: [list, null] };
      const lazy = { ...whole, lazy: new LongList(list, (one) => ({ one })) };
      const plain = JSON.stringify(whole);
      expect(await jsonInTurns(whole)).toBe(plain);
      expect(await jsonInTurns(lazy)).toBe(plain);
      expect(JSON.stringify(lazy)).toBe(plain);
      const written = { ...whole, list: new JsonText(JSON.stringify(list)) };
      expect(await jsonInTurns(written)).toBe(plain);
      expect(await jsonInTurns([written, new JsonText('[]')])).toBe(`[${plain},[]]`);
      expect(JSON.stringify(written)).toBe(plain);
      expect(await jsonInTurns([undefined, ...list, lazy, new Date(0)])).toBe(
        JSON.stringify([undefined, ...list, whole, new Date(0)]),
      );
    }),
  );
});

test('resultInTurns answers as resultText does, and lets others run while it makes a long text', async () => {
  for (const result of [undefined, null, 7, 'x', [], {}, { toJSON: () => 'own' }, [row(1)]])
    expect(await resultInTurns('"a"', result)).toBe(resultText('"a"', result));
  let [turns, made] = [0, 0];
  const list = new LongList(
    Array.from({ length: 200_000 }, (_, at) => at),
    (at) => {
      made += 1;
      return row(at);
    },
  );
  const counting = setInterval(() => (turns += 1), 0);
  const text = await resultInTurns('1', [{ logs: list }]);
  clearInterval(counting);
  expect(made).toBe(200_000);
  expect(turns).toBeGreaterThan(1);
  expect(text).toBe(resultText('1', [{ logs: list }]));
});
