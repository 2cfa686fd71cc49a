import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/commands/ledger/messages.ts';
import { distance } from '../../../src/edges/chain/sign/addresses.ts';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { moduleAddress } from '../../../src/edges/local-network/cast.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import { ask, cast, freshLog, playHistory, seed, send, silent, startLedger } from './ledger-under-test.ts';
import { eventually } from '../../support/polling.ts';

const lumera = (path: string) => `/LumeraProtocol/lumera/${path}`;
const register = (lifetimeSeconds = 90_000, atMs = Date.now(), creator = 0): Message[] =>
  messagesOf(
    { kind: 'register', registrations: [{ id: 1, isSense: false, creator, lifetimeSeconds }] },
    { seed, cast, atMs, idOf: String },
  );
const actionOf = async (ledger: Ledger, id: string, headers = {}) =>
  (await ask(ledger, lumera(`action/v1/get_action/${id}`), { headers })).body;

const everything = [
  lumera('action/v1/list_actions?pagination.limit=1000'),
  lumera('action/v1/list_actions?pagination.limit=5&pagination.reverse=true'),
  lumera('supernode/v1/list_super_nodes'),
  lumera('supernode/v1/get_top_super_nodes_for_block/30'),
  lumera('supernode/v1/pool_state'),
  '/cosmos/staking/v1beta1/validators',
  '/cosmos/tx/v1beta1/txs?query=tx.height%3E%3D1&limit=100',
  '/cosmos/base/tendermint/v1beta1/blocks/latest',
  '/cosmos/base/node/v1beta1/status',
  `/cosmos/auth/v1beta1/accounts/${cast.creators[0].account}`,
  `/cosmos/bank/v1beta1/balances/${moduleAddress('action')}`,
];
const answers = async (ledger: Ledger) =>
  await Promise.all(everything.map(async (path) => (await ask(ledger, path)).body));

describe('runLedger', () => {
  test('gives identical answers after a restart from the log', async () => {
    await using fresh = await freshLog();
    await using first = await startLedger(fresh.log);
    await playHistory(first);
    const before = await answers(first);
    await first.stop();
    await using second = await startLedger(fresh.log);
    expect(await answers(second)).toEqual(before);
  });

  test('shows an action as soon as its transaction is sealed, and seals nothing else', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    expect(await send(ledger, register())).toMatchObject({ height: 1, code: 0 });
    expect(await actionOf(ledger, '1')).toMatchObject({ action: { state: 'ACTION_STATE_PENDING', blockHeight: '1' } });
    expect(ledger.status().height).toBe(1);
  });

  test('seals a block of its own when an action expires', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    const start = Date.parse(ledger.status().startedAt);
    await send(ledger, register(50, start + 1000), start + 1000);
    // The time of the next transaction lies beyond the expiry, so the expiry comes first.
    await send(ledger, register(90_000, start + 120_000), start + 120_000);
    expect(await actionOf(ledger, '1')).toMatchObject({ action: { state: 'ACTION_STATE_EXPIRED' } });
    expect(ledger.status()).toMatchObject({ height: 3, transactions: 2 });
    const { body } = await ask(ledger, '/cosmos/base/tendermint/v1beta1/blocks/2');
    expect(body).toMatchObject({ block: { data: { txs: [] } } });
    const { body: search } = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=action_expired.action_id%20EXISTS');
    expect(search).toMatchObject({ total: '0' });
  });

  test('answers old heights with what was then', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    await playHistory(ledger);
    const found = await ask(ledger, '/cosmos/tx/v1beta1/txs?query=action_finalized.action_id%3D1');
    const height = Number(/"height":"(\d+)","txhash"/.exec(JSON.stringify(found.body))?.[1]);
    const at = (h: number) => ({ 'x-cosmos-block-height': String(h) });
    expect(await actionOf(ledger, '1', at(height - 1))).toMatchObject({
      action: { state: 'ACTION_STATE_PENDING', superNodes: [] },
    });
    expect(await actionOf(ledger, '1', at(height))).toMatchObject({ action: { state: 'ACTION_STATE_DONE' } });
    const early = await ask(ledger, lumera('supernode/v1/list_super_nodes'), { headers: at(2) });
    expect(early.body).toMatchObject({ pagination: { total: '2' } });
    expect(early.headers.get('grpc-metadata-x-cosmos-block-height')).toBe('2');
    expect((await ask(ledger, lumera('action/v1/get_action/1'), { headers: at(3) })).status).toBe(404);
  });

  test('refuses what no block would take', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    const message = { '@type': '/lumera.action.v1.MsgApproveAction', creator: 'lumera1nobody', actionId: '1' } as const;
    await expect(send(ledger, [message])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(ledger.status().height).toBe(0);
  });

  test('two ledgers on one log agree: the one that comes late reads on and tries again', async () => {
    await using fresh = await freshLog();
    await using one = await startLedger(fresh.log);
    await using other = await startLedger(fresh.log);
    const byAlice = () => send(one, register());
    const byBob = () => send(other, register(90_000, Date.now(), 1));
    const receipts = await Promise.all([byAlice(), byBob(), byAlice(), byBob(), byAlice(), byBob()]);
    expect(new Set(receipts.map(({ hash }) => hash)).size).toBe(6);
    const list = async (ledger: Ledger) => (await ask(ledger, lumera('action/v1/list_actions'))).body;
    await eventually(async () => expect(await list(one)).toEqual(await list(other)));
    expect(await list(one)).toMatchObject({ total: '6' });
  });

  test('fails when its log holds what no chain could have written', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    const time = new Date().toISOString();
    const data = { chain: 'chain', height: 99, time, transactions: [], endBlockEvents: [] };
    await fresh.log.append([{ kind: 'ledger', entity: 'chain', facts: [{ type: 'BlockSealed', data }], expected: 1 }], {
      at: time,
    });
    await expect(ledger.failed).rejects.toThrow('Block 99 follows block 0');
  });

  test('reports what keeps it from sealing and goes on, and does not fail when it is stopped', async () => {
    await using fresh = await freshLog();
    let isBroken = false;
    const append: Log['append'] = async (...decisions) =>
      isBroken && decisions[0].some(({ kind }) => kind === 'ledger')
        ? await Promise.reject(new Error('no such stream'))
        : await fresh.log.append(...decisions);
    await using ledger = await startLedger({ ...fresh.log, append });
    isBroken = true;
    const sealed = send(ledger, register());
    await expect.poll(() => ledger.obstacles()).toEqual(['No block can be sealed: no such stream']);
    isBroken = false;
    expect(await sealed).toMatchObject({ code: 0 });
    await expect.poll(() => ledger.obstacles()).toEqual([]);
    await using other = await startLedger(fresh.log);
    await other.stop();
    expect(await Promise.race([other.failed, new Promise((resolve) => setImmediate(resolve, 'stopped'))])).toBe(
      'stopped',
    );
  });

  test('a port that is taken is named', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    const lcdPort = Number(new URL(ledger.url).port);
    const { signal } = new AbortController();
    const second = runLedger({
      execution: executeInMemory,
      log: fresh.log,
      beginning: () => localBeginning(seed, 0),
      host: '127.0.0.1',
      lcdPort,
      logger: silent,
      signal,
    });
    await expect(second).rejects.toThrow(
      `Port ${lcdPort} of 127.0.0.1 cannot be opened for the chain REST: it is taken`,
    );
  });
});

describe('a ledger that keeps less, or an older one', () => {
  test('answers below its lowest height as a pruned node does', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log, { lowestHeight: 20 });
    await playHistory(ledger);
    const gone = { code: 2, message: 'height 6 is not available, lowest height is 20', details: [] };
    expect(await ask(ledger, '/cosmos/base/tendermint/v1beta1/blocks/6')).toMatchObject({ status: 500, body: gone });
    const search = (query: string) => ask(ledger, `/cosmos/tx/v1beta1/txs?query=${query}`);
    expect(await search('tx.height%3D6')).toMatchObject({ status: 500, body: { ...gone, code: 13 } });
    expect(await search('tx.height%3D6%20AND%20action_approved.action_id%3D999')).toMatchObject({
      status: 200,
      body: { total: '0' },
    });
    expect((await search('tx.height%3E%3D20')).status).toBe(200);
    const old = await ask(ledger, lumera('action/v1/get_action/1'), { headers: { 'x-cosmos-block-height': '6' } });
    expect(old).toMatchObject({ status: 500, body: { code: 2 } });
    expect(JSON.stringify(old.body)).toContain(
      'failed to load state at height 6; version mismatch on immutable IAVL tree',
    );
    expect(await actionOf(ledger, '1')).toMatchObject({ action: { actionID: '1' } });
  });

  test('gives the price of chosen actions as an object', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log, { hasPriceObject: (id) => id === '2' });
    await send(ledger, register());
    await send(ledger, register());
    expect(await actionOf(ledger, '1')).toMatchObject({ action: { price: expect.stringMatching(/^\d+ulume$/) } });
    expect(await actionOf(ledger, '2')).toMatchObject({
      action: { price: { denom: 'ulume', amount: expect.stringMatching(/^\d+$/) } },
    });
  });
});

describe('get_top_super_nodes_for_block', () => {
  test('is ordered by BLAKE3 of height XOR BLAKE3 of address bytes, stopped and disabled nodes included', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    await playHistory(ledger);
    const top = async (query: string) => {
      const { body } = await ask(ledger, lumera(`supernode/v1/get_top_super_nodes_for_block/${query}`));
      return (body as { supernodes: { validator_address: string }[] }).supernodes.map((node) => node.validator_address);
    };
    const expected = cast.nodes
      .map(({ operator }) => operator.operator)
      .toSorted((a, b) => (distance(30, a) < distance(30, b) ? -1 : 1));
    expect(await top('30')).toEqual(expected);
    expect(await top('30?limit=2')).toEqual(expected.slice(0, 2));
    expect(await top('30?state=NOPE')).toEqual(expected);
    expect(await top('30?state=STOPPED')).toEqual([cast.nodes[4]?.operator.operator]);
    expect(await top('30?state=SUPERNODE_STATE_ACTIVE&limit=10')).toHaveLength(4);
    expect(await top('2')).toHaveLength(2);
    expect(await top('999999')).toHaveLength(6);
  });
});
