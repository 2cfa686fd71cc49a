import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import { ask, cast, freshLog, playHistory, seed, send, startLedger } from './ledger-under-test.ts';

type List = {
  actions: { actionID: string; creator: string }[];
  pagination: { next_key: string | null; total: string };
  total: string;
};

let ledger: Ledger;
let stop: () => Promise<void>;
let ids: string[];
beforeAll(async () => {
  const fresh = await freshLog();
  ledger = await startLedger(fresh.log);
  await playHistory(ledger);
  ids = (await list('list_actions')).actions.map(({ actionID }) => actionID);
  stop = async () => {
    await ledger.stop();
    await fresh[Symbol.asyncDispose]();
  };
});
afterAll(() => stop());

async function list(path: string): Promise<List> {
  const { status, body } = await ask(ledger, `/LumeraProtocol/lumera/action/v1/${path}`);
  expect(status).toBe(200);
  return body as List;
}

async function walk(path: string): Promise<List[]> {
  const pages = [await list(path)];
  for (let key = pages[0]?.pagination.next_key; key; key = pages.at(-1)?.pagination.next_key) {
    pages.push(await list(`${path}&pagination.key=${encodeURIComponent(key)}`));
  }
  return pages;
}

const idsOf = (pages: readonly List[]) => pages.flatMap(({ actions }) => actions.map(({ actionID }) => actionID));
const numeric = (a: string, b: string) => Number(a) - Number(b);

describe('list_actions', () => {
  test('goes forward by id as text, its key being the next id', async () => {
    const pages = await walk('list_actions?pagination.limit=7');
    expect(idsOf(pages)).toEqual(ids);
    expect(ids.slice(0, 3)).toEqual(['1', '10', '11']);
    const next = pages[0]?.pagination.next_key ?? '';
    expect(Buffer.from(next, 'base64').toString()).toBe(ids[7]);
  });

  test('goes back by id as number, its key being a place of 8 bytes', async () => {
    const pages = await walk('list_actions?pagination.limit=7&pagination.reverse=true');
    expect(idsOf(pages)).toEqual(ids.toSorted(numeric).toReversed());
    expect(pages[0]?.pagination.next_key).toBe('AAAAAAAAAAc=');
  });

  test('counts without a limit, with count_total, and backwards with a key as well; else says 0', async () => {
    const total = String(ids.length);
    expect((await list('list_actions')).pagination.total).toBe(total);
    expect((await list('list_actions?pagination.limit=0')).total).toBe(total);
    expect((await list('list_actions?pagination.limit=2&pagination.count_total=true')).total).toBe(total);
    expect((await list('list_actions?pagination.limit=2')).total).toBe('0');
    expect(
      (await list('list_actions?pagination.limit=2&pagination.count_total=true&pagination.key=Mg%3D%3D')).total,
    ).toBe('0');
    const back =
      'list_actions?pagination.limit=2&pagination.count_total=true&pagination.reverse=true&pagination.key=AAAAAAAAAAM%3D';
    expect((await list(back)).total).toBe(total);
  });

  test('filters by type and state, as names or numbers, and pages what is left', async () => {
    const done = idsOf(await walk('list_actions?actionState=ACTION_STATE_DONE&actionType=2&pagination.limit=3'));
    const same = idsOf([await list('list_actions?actionState=3&actionType=ACTION_TYPE_CASCADE')]);
    expect(done).toEqual(same);
    expect(done.length).toBeGreaterThan(5);
    expect(done.length).toBeLessThan(ids.length);
  });

  test('takes an offset and a key that no action has', async () => {
    expect(idsOf([await list('list_actions?pagination.offset=2&pagination.limit=2')])).toEqual(ids.slice(2, 4));
    expect(
      idsOf([await list(`list_actions?pagination.limit=1&pagination.key=${Buffer.from('10x').toString('base64')}`)]),
    ).toEqual(['11']);
  });

  test('holds at most 1000 on a page however many are asked for', async () => {
    expect(idsOf([await list('list_actions?pagination.limit=999999999999')])).toEqual(ids);
  });

  test('shifts its backward pages when an action is added in between', async () => {
    const first = await list('list_actions?pagination.limit=3&pagination.reverse=true');
    const registration = { id: 9999, isSense: false, creator: 0, lifetimeSeconds: 90_000 };
    await send(
      ledger,
      messagesOf({ kind: 'register', registrations: [registration] }, { seed, cast, atMs: Date.now(), idOf: String }),
    );
    const second = await list(
      `list_actions?pagination.limit=3&pagination.reverse=true&pagination.key=${encodeURIComponent(first.pagination.next_key ?? '')}`,
    );
    expect(second.actions[0]?.actionID).toBe(first.actions[2]?.actionID);
    ids = (await list('list_actions')).actions.map(({ actionID }) => actionID);
  });
});

describe('lists of some actions', () => {
  test('list_actions_by_creator goes back by id as text', async () => {
    const creator = cast.creators[0].account;
    const forward = idsOf(await walk(`list_actions_by_creator/${creator}?pagination.limit=2`));
    const backward = idsOf(await walk(`list_actions_by_creator/${creator}?pagination.limit=2&pagination.reverse=true`));
    expect(forward.length).toBeGreaterThan(2);
    expect(backward).toEqual(forward.toReversed());
  });

  test('list_actions_by_supernode knows the finalizing accounts', async () => {
    const counts = await Promise.all(
      cast.nodes.map(
        async ({ accounts }) => (await list(`list_actions_by_supernode/${accounts[0].account}`)).actions.length,
      ),
    );
    const finalized = [
      ...(await list('list_actions?actionState=3')).actions,
      ...(await list('list_actions?actionState=4')).actions,
    ];
    expect(counts.reduce((a, b) => a + b, 0)).toBe(finalized.length);
  });

  test('list_actions_by_block_height gives both actions of one transaction', async () => {
    const { body } = await ask(ledger, '/LumeraProtocol/lumera/action/v1/get_action/6');
    const height = /"blockHeight":"(\d+)"/.exec(JSON.stringify(body))?.[1];
    expect(idsOf([await list(`list_actions_by_block_height/${height}`)])).toEqual(['6', '7']);
  });

  test('query_action_by_metadata finds a Sense action until it is finalized', async () => {
    const found = await list('query_action_by_metadata?actionType=1&metadataQuery=collection_id%3Dcollection-1');
    const others = ['2', '3'].map((n) =>
      list(`query_action_by_metadata?actionType=1&metadataQuery=collection_id%3Dcollection-${n}`),
    );
    const all = [found, ...(await Promise.all(others))];
    const finished = idsOf([await list('list_actions?actionType=1&actionState=3')]);
    expect(idsOf(all).length).toBeGreaterThan(0);
    expect(idsOf(all).filter((id) => finished.includes(id))).toEqual([]);
    expect(all.map(({ total }) => total)).toEqual(['0', '0', '0']);
  });
});

describe('lists of nodes and validators', () => {
  test.each([
    ['list_super_nodes', '/LumeraProtocol/lumera/supernode/v1/list_super_nodes', 'validator_address', 6, 20],
    ['staking validators', '/cosmos/staking/v1beta1/validators', 'operator_address', 16, 21],
  ])('%s is ordered by address bytes and paged by them', async (_, path, field, count, keyLength) => {
    const addresses = (body: unknown) =>
      [...JSON.stringify(body).matchAll(new RegExp(`"${field}":"([^"]+)"`, 'g'))].map((match) => match[1]);
    const whole = addresses((await ask(ledger, path)).body);
    expect(whole).toHaveLength(count);
    const first = (await ask(ledger, `${path}?pagination.limit=2`)).body as List;
    const key = first.pagination.next_key ?? '';
    expect(Buffer.from(key, 'base64')).toHaveLength(keyLength);
    const rest = (await ask(ledger, `${path}?pagination.key=${encodeURIComponent(key)}&pagination.limit=100`)).body;
    expect([...addresses(first), ...addresses(rest)]).toEqual(whole);
    const back = (await ask(ledger, `${path}?pagination.reverse=true`)).body;
    expect(addresses(back)).toEqual(whole.toReversed());
  });
});
