import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import recordings from '../../fixtures/chain-wire/rest.json' with { type: 'json' };
import { ask, cast, freshLog, playHistory, startLedger } from './ledger-under-test.ts';
import { shapeOf } from './shape.ts';

type Recorded = {
  method: string;
  path: string;
  status: number;
  body: unknown;
  hasHeight: boolean;
  requestHeaders?: Record<string, string>;
  location?: string;
};
const all: [string, Recorded][] = Object.entries(recordings);

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

/** Those that depend on what is in the chain, or on a chain that keeps less. */
const ofOneChain = /^pruned-node|page_too_far/;

describe('chain REST refuses as the recorded chain does', () => {
  const refusals = all.filter(([name, { status }]) => status >= 300 && !ofOneChain.test(name));
  test.each(refusals)('%s', async (_, recorded) => {
    const answer = await ask(ledger, recorded.path, {
      method: recorded.method,
      headers: recorded.requestHeaders ?? {},
    });
    expect(answer.status).toBe(recorded.status);
    expect(answer.body).toEqual(recorded.body);
    expect(answer.headers.has('grpc-metadata-x-cosmos-block-height')).toBe(recorded.hasHeight);
    expect(answer.headers.get('location') ?? undefined).toBe(recorded.location);
  });
});

describe('chain REST answers the same on any chain', () => {
  const names =
    /list_actions_key-past|offset=5000|by_supernode\/nonsense|height_0|cascade_other_field|payout_history|sn_eligibility|top\/1$|txs\/search\/none|syncing|action_fee/;
  const same = all.filter(([name, { status }]) => status === 200 && names.test(name));
  test.each(same)('%s', async (name, recorded) => {
    const answer = await ask(ledger, recorded.path);
    expect(answer.status).toBe(200);
    if (name.endsWith('top/1')) expect(shapeOf(answer.body)).toEqual([['supernodes', expect.anything()]]);
    else expect(answer.body).toEqual(recorded.body);
  });
});

describe('chain REST answers in the shape of the recorded chain', () => {
  const alice = () => cast.creators[0].account;
  const node = () => cast.nodes[0]?.operator.operator ?? '';
  const jailed = () => cast.nodes[5]?.operator.operator ?? '';
  const rows: [string, keyof typeof recordings, () => string | Promise<string>][] = [
    ['action/v1/params', 'action/action_v1_params', () => lumera('action/v1/params')],
    ['get_action of a finalized Cascade action', 'action/get_action/1', () => lumera('action/v1/get_action/1')],
    ['get_action of a finalized Sense action', 'action/get_action/2', () => lumera('action/v1/get_action/3')],
    [
      'list_expired_actions',
      'action/list_expired_actions_limit-4_page-03',
      () => lumera('action/v1/list_expired_actions?pagination.limit=10'),
    ],
    ['supernode/v1/params', 'supernode/supernode_v1_params', () => lumera('supernode/v1/params')],
    ['get_super_node', 'supernode/get_super_node/val3', () => lumera(`supernode/v1/get_super_node/${node()}`)],
    [
      'list_super_nodes',
      'supernode/list_super_nodes_limit-3_page-02',
      () => lumera('supernode/v1/list_super_nodes?pagination.limit=3'),
    ],
    [
      'staking validators',
      'cosmos/staking_v1beta1_validators_pagination.limit=2_pagination.count_total=true',
      () => '/cosmos/staking/v1beta1/validators?pagination.limit=2&status=BOND_STATUS_BONDED',
    ],
    ['staking validator, jailed', 'cosmos/validator_jailed', () => `/cosmos/staking/v1beta1/validators/${jailed()}`],
    ['staking params', 'cosmos/staking_v1beta1_params', () => '/cosmos/staking/v1beta1/params'],
    ['a block', 'cosmos/base_tendermint_v1beta1_blocks_37', () => '/cosmos/base/tendermint/v1beta1/blocks/9'],
    ['node_info', 'cosmos/base_tendermint_v1beta1_node_info', () => '/cosmos/base/tendermint/v1beta1/node_info'],
    ['node status', 'cosmos/base_node_v1beta1_status', () => '/cosmos/base/node/v1beta1/status'],
    ['an account', 'cosmos/accounts/alice', () => `/cosmos/auth/v1beta1/accounts/${alice()}`],
    [
      'an account that never sent anything',
      'cosmos/accounts/dave',
      () => `/cosmos/auth/v1beta1/accounts/${cast.bystander.account}`,
    ],
    ['account_info', 'cosmos/accounts/account_info_alice', () => `/cosmos/auth/v1beta1/account_info/${alice()}`],
    [
      'a module account',
      'cosmos/auth_v1beta1_module_accounts_action',
      () => '/cosmos/auth/v1beta1/module_accounts/action',
    ],
    ['balances', 'cosmos/balances/alice', () => `/cosmos/bank/v1beta1/balances/${alice()}`],
    [
      'balance by denom',
      'cosmos/balances/alice_by_denom',
      () => `/cosmos/bank/v1beta1/balances/${alice()}/by_denom?denom=ulume`,
    ],
    [
      'a transaction that registers',
      'txs/by_hash/register-1',
      () => firstTransaction("message.action='/lumera.action.v1.MsgRequestAction' AND action_registered.action_id=1"),
    ],
    [
      'a transaction that approves',
      'txs/by_hash/approve-1',
      () => firstTransaction('action_approved.action_id EXISTS'),
    ],
    [
      'a rejected finalization',
      'txs/by_hash/rejected-finalize-not-a-SuperNode-1',
      () => firstTransaction('action_finalization_rejected.action_id EXISTS'),
    ],
    [
      'a transaction search',
      'txs/search/limit_3',
      () => '/cosmos/tx/v1beta1/txs?query=supernode_registered.validator_address%20EXISTS&limit=3',
    ],
    ['POST like GET', 'errors/post_action_params', () => lumera('action/v1/params')],
    ['height 0 as the latest', 'historic/h-zero', () => lumera('action/v1/params')],
  ];
  test.each(rows)('%s', async (_, name, path) => {
    const recorded: Recorded = recordings[name];
    const answer = await ask(ledger, await path(), { method: recorded.method, headers: recorded.requestHeaders ?? {} });
    expect(answer.status).toBe(200);
    expect(shapeOf(answer.body)).toEqual(shapeOf(recorded.body));
    expect(answer.headers.get('grpc-metadata-x-cosmos-block-height')).toBe(String(ledger.status().height));
  });
});

describe('chain REST', () => {
  test("pool_state shows the pool's share of the fees and no payout", async () => {
    const { body } = await ask(ledger, lumera('supernode/v1/pool_state'));
    const recorded = recordings['supernode/supernode_v1_pool_state'].body;
    expect(Object.keys(Object(body))).toEqual(Object.keys(recorded));
    expect(body).toMatchObject({
      balance: [{ denom: 'ulume', amount: expect.stringMatching(/^[1-9]\d*$/) }],
      total_distributed: [],
    });
  });

  test('blocks/1 has no block before it, and names its chain', async () => {
    const { body } = await ask(ledger, '/cosmos/base/tendermint/v1beta1/blocks/1');
    const { header } = recordings['cosmos/base_tendermint_v1beta1_blocks_1'].body.block;
    expect(body).toMatchObject({
      block: {
        header: { chain_id: 'annals-local-1', height: '1', last_block_id: header.last_block_id },
        last_commit: { height: '0' },
      },
    });
  });

  test("a transaction's hash is the SHA-256 of its bytes in the block", async () => {
    const { body } = await ask(ledger, '/cosmos/base/tendermint/v1beta1/blocks/2');
    const bytes = /"txs":\["([^"]+)"\]/.exec(JSON.stringify(body))?.[1] ?? '';
    const hash = createHash('sha256').update(Buffer.from(bytes, 'base64')).digest('hex').toUpperCase();
    const found = await ask(ledger, `/cosmos/tx/v1beta1/txs/${hash}`);
    expect(found.body).toMatchObject({ tx_response: { height: '2', txhash: hash } });
  });
});

const lumera = (path: string) => `/LumeraProtocol/lumera/${path}`;

async function firstTransaction(query: string): Promise<string> {
  const { body } = await ask(ledger, `/cosmos/tx/v1beta1/txs?limit=1&query=${encodeURIComponent(query)}`);
  const hash = /"txhash":"([0-9A-F]{64})"/.exec(JSON.stringify(body))?.[1];
  return `/cosmos/tx/v1beta1/txs/${hash}`;
}
