import { expect, test } from 'vitest';
import { type Action, withChanges } from '../../../src/commands/ledger/chain.ts';
import { endBlock } from '../../../src/commands/ledger/execute.ts';
import { carryOut } from '../../../src/edges/ledger/carry-out.ts';
import { people, SmallChain, transactionOf } from '../../commands/ledger/small-chain.ts';

const { alice, bob } = people;

test('a draft takes what fits its part of the fact and leaves the rest, a block of the log takes all', () => {
  const chain = new SmallChain();
  const amount = [{ denom: 'ulume', amount: '1' }];
  const send = { '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: alice, to_address: bob, amount } as const;
  const pending = Array.from({ length: 5 }, (_, sequence) => ({
    hash: `HASH${sequence}`,
    bytes: new Uint8Array(1_000_000),
    transaction: transactionOf(chain.state, [send], { sequence }),
  })) as unknown as Parameters<typeof carryOut>[1]['pending'];
  const block = chain.block();
  const draft = carryOut(chain.state, { block, pending, isDraft: true });
  expect(draft.taken.map(({ hash }) => hash)).toEqual(['HASH0', 'HASH1']);
  expect([draft.logged.length, draft.executed.length, draft.refusals.size]).toEqual([2, 2, 0]);
  expect(Buffer.byteLength(JSON.stringify(draft.logged))).toBeLessThan(3_000_000);
  expect(carryOut(chain.state, { block, pending, isDraft: false }).taken).toHaveLength(5);
});

test('500 actions expire in a block at most, the others in the next one', () => {
  const chain = new SmallChain();
  const pays = chain.state.genesis.modules.action;
  const actions = Array.from({ length: 600 }, (_, at): Action => ({
    id: String(at + 1),
    creator: alice,
    type: 'ACTION_TYPE_CASCADE',
    metadata: null,
    price: 1n,
    expirationTime: 1,
    state: 'ACTION_STATE_PENDING',
    height: 1,
    superNodes: [],
    fileSizeKbs: 1,
  }));
  let state = withChanges(chain.state, {
    tallies: chain.state.tallies,
    actions: new Map(actions.map((action) => [action.id, action])),
    nodes: new Map(),
    accounts: new Map([[pays, { address: pays, number: 0, sequence: 0, balance: 10n ** 18n }]]),
  });
  const expired: number[] = [];
  for (let block = 0; block < 3; block += 1) {
    const { changes } = endBlock(state, chain.block());
    expired.push(changes.actions.size);
    state = withChanges(state, changes);
  }
  expect(expired).toEqual([500, 100, 0]);
});
