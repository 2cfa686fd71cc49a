import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { parseQuery } from '../../../src/edges/ledger/blocks/search-query.ts';
import { ask, cast, freshLog, playHistory, startLedger } from './ledger-under-test.ts';

describe('parseQuery', () => {
  test.each([
    ['action_registered.action_id=7', [{ key: 'action_registered.action_id', operator: '=', value: '7' }]],
    ["action_registered.action_id='7'", [{ key: 'action_registered.action_id', operator: '=', value: '7' }]],
    ["message.action='/a.b.C AND d'", [{ key: 'message.action', operator: '=', value: '/a.b.C AND d' }]],
    ['action_finalized.action_id EXISTS', [{ key: 'action_finalized.action_id', operator: 'EXISTS', value: '' }]],
    [
      'action_finalized.action_id EXISTS AND tx.height>=37 AND tx.height <= 38',
      [
        { key: 'action_finalized.action_id', operator: 'EXISTS', value: '' },
        { key: 'tx.height', operator: '>=', value: '37' },
        { key: 'tx.height', operator: '<=', value: '38' },
      ],
    ],
  ])('reads %s', (text, conditions) => {
    expect(parseQuery(text)).toEqual(conditions);
  });

  test.each([
    '',
    '  ',
    'a',
    'a.b',
    'a.b=',
    "a.b='7",
    'a.b=1 OR a.b=2',
    'a.b=1 AND',
    'a.b=1 a.b=2',
    '=1',
    `a.b='${'x'.repeat(3000)}'`,
    Array(40).fill('a.b=1').join(' AND '),
  ])('refuses %j with code 13', (text) => {
    expect(() => parseQuery(text)).toThrow(expect.objectContaining({ grpcCode: 13, status: 500 }));
  });
});

describe('GET /cosmos/tx/v1beta1/txs', () => {
  let ledger: Ledger;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const fresh = await freshLog();
    ledger = await startLedger(fresh.log);
    await playHistory(ledger);
    stop = async () => {
      await ledger.stop();
      await fresh[Symbol.asyncDispose]();
    };
  });
  afterAll(() => stop());

  const search = async (query: string, more = '') => {
    const { status, body } = await ask(ledger, `/cosmos/tx/v1beta1/txs?query=${encodeURIComponent(query)}${more}`);
    expect(status).toBe(200);
    const { total, tx_responses: found } = body as {
      total: string;
      tx_responses: { height: string; txhash: string }[];
    };
    return {
      total: Number(total),
      heights: found.map(({ height }) => Number(height)),
      hashes: found.map(({ txhash }) => txhash),
    };
  };

  test('finds by attribute, quoted or not, and both actions of one transaction in the same one', async () => {
    const sixth = await search('action_registered.action_id=6');
    expect(sixth.total).toBe(1);
    expect(await search("action_registered.action_id='7'")).toEqual(sixth);
  });

  test('finds what exists from a height on', async () => {
    const all = await search('action_finalized.action_id EXISTS');
    const from = all.heights[3] ?? 0;
    const later = await search(`action_finalized.action_id EXISTS AND tx.height>=${from}`);
    expect(later.heights).toEqual(all.heights.slice(3));
    const between = await search(`tx.height>=${from} AND tx.height<=${from + 2}`);
    expect(between.heights).toEqual(between.heights.filter((height) => height >= from && height <= from + 2));
    expect((await search(`tx.height=${from}`)).heights).toEqual([from]);
  });

  test('never finds what expired or failed', async () => {
    expect((await search('action_expired.action_id EXISTS')).total).toBe(0);
    const fees = await search('tx.fee EXISTS');
    const carriedOut = await search('message.action EXISTS');
    expect(fees.total).toBeGreaterThan(carriedOut.total);
  });

  test('finds what no index tells by looking into the transactions that meet the rest', async () => {
    const query = "tx.fee='5000ulume'";
    const paid = await search(query);
    expect(paid.total).toBeGreaterThan(5);
    expect((await search('tx.fee EXISTS')).total).toBeGreaterThan(paid.total);
    const [hash = ''] = paid.hashes;
    const { body } = await ask(ledger, `/cosmos/tx/v1beta1/txs/${hash}`);
    const signature = (body as { tx: { signatures: string[] } }).tx.signatures[0];
    expect((await search(`tx.signature='${signature}'`)).hashes).toEqual([hash]);
    const late = await search(`${query} AND tx.height>${paid.heights[2]}`);
    expect(late.heights).toEqual(paid.heights.slice(3));
    expect((await search('action_registered.action_id>=6 AND action_registered.action_id<=7')).total).toBe(1);
  });

  test('pages by page and limit alone, oldest first or newest first', async () => {
    const query = `message.sender='${cast.creators[0].account}'`;
    const all = await search(query);
    const first = await search(query, '&limit=3');
    const second = await search(query, '&limit=3&page=2');
    expect([...first.hashes, ...second.hashes]).toEqual(all.hashes.slice(0, 6));
    expect(first.total).toBe(all.total);
    expect((await search(query, '&pagination.limit=1&pagination.offset=1')).hashes).toEqual(all.hashes);
    expect((await search(query, '&order_by=ORDER_BY_DESC')).hashes).toEqual(all.hashes.toReversed());
  });

  test('refuses a page beyond the last', async () => {
    const { status, body } = await ask(
      ledger,
      '/cosmos/tx/v1beta1/txs?query=action_registered.action_id%3D1&page=9&limit=1',
    );
    expect(status).toBe(500);
    expect(body).toEqual({
      code: 13,
      message: 'failed to search for txs: page should be within [1, 1] range, given 9',
      details: [],
    });
  });

  test('refuses a zero byte, which no text of the database holds', async () => {
    const { status, body } = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=message.action%3D%27%00%27');
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 13, message: expect.stringContaining('zero byte') });
  });

  test('a hash is found in lower case as well', async () => {
    const [hash = ''] = (await search('action_registered.action_id=1')).hashes;
    const { status } = await ask(ledger, `/cosmos/tx/v1beta1/txs/${hash.toLowerCase()}`);
    expect(status).toBe(200);
  });
});
