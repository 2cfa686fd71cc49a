import { expect, test } from 'vitest';
import { refusalOf } from '../../../src/commands/ledger/ante.ts';
import { type Account, withChanges } from '../../../src/commands/ledger/chain.ts';
import { ulumeOf } from '../../../src/commands/ledger/coins.ts';
import type { Message } from '../../../src/commands/ledger/messages.ts';
import { people, request, SmallChain, transactionOf } from './small-chain.ts';

const coin = 10n ** 12n;

/** A chain on which alice has a balance in alume, as the EVM may leave it. */
function chainWith(balance: bigint): SmallChain {
  const chain = new SmallChain();
  const alice = chain.state.account(people.alice);
  if (!alice) throw new Error('The genesis has no alice');
  const accounts = new Map<string, Account>([[people.alice, { ...alice, balance }]]);
  const { tallies } = chain.state;
  chain.state = withChanges(chain.state, { tallies, accounts, actions: new Map(), nodes: new Map() });
  return chain;
}

test('ulumeOf cuts off what is less than one ulume', { tags: ['S1.evm.coin'] }, () => {
  expect([coin - 1n, coin, 2n * coin - 1n].map(ulumeOf)).toEqual([0n, 1n, 1n]);
});

test('MsgSend leaves what is less than one ulume where it was', () => {
  const chain = chainWith(3000n * coin + 7n);
  const send: Message = {
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: people.alice,
    to_address: people.bob,
    amount: [{ denom: 'ulume', amount: '1000' }],
  };
  expect(chain.run(send).code).toBe(0);
  expect(chain.state.account(people.alice)?.balance).toBe(7n);
  expect(chain.state.account(people.bob)?.balance).toBe(1_001_000n * coin);
});

test('refusalOf asks for the whole fee in alume, and shows the balance in ulume', { tags: ['S1.evm.coin'] }, () => {
  const { state } = chainWith(5000n * coin - 1n);
  const refusal = refusalOf(state, transactionOf(state, [request()]), { height: 1, ahead: 0 });
  expect(refusal?.code).toBe(5);
  expect(refusal?.log).toContain('spendable balance 4999ulume is smaller than 5000ulume');
});

test('no transaction makes or loses an alume', () => {
  const chain = chainWith(1_000_000n * coin + 999n);
  const total = (): bigint =>
    ['module-action', 'module-supernode', 'module-fees', ...Object.values(people)].reduce(
      (sum, address) => sum + (chain.state.account(address)?.balance ?? 0n),
      0n,
    );
  const before = total();
  expect(chain.run(request()).code).toBe(0);
  chain.expire(200);
  expect(total()).toBe(before);
});
