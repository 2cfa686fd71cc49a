import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/commands/ledger/messages.ts';
import { people, SmallChain, transactionOf } from './small-chain.ts';
import { execute } from '../../../src/commands/ledger/execute.ts';

const send = (amount: string, denom = 'ulume'): Message => ({
  '@type': '/cosmos.bank.v1beta1.MsgSend',
  from_address: people.alice,
  to_address: 'lumera1somebodynew',
  amount: [{ denom, amount }],
});
const fee = 2000n;

describe('MsgSend', () => {
  test('moves coins to an account that begins with them', () => {
    const chain = new SmallChain();
    expect(chain.run(send('500')).code).toBe(0);
    expect(chain.balance('lumera1somebodynew')).toBe(500n);
    expect(chain.balance(people.alice)).toBe(1_000_000n - 500n - fee);
    expect(chain.state.account('lumera1somebodynew')).toMatchObject({ sequence: 0 });
    expect(chain.state.account(people.alice)).toMatchObject({ sequence: 1, publicKey: { key: 'key' } });
  });

  test.each([
    ['more than there is', send('1000000'), 5, 'insufficient funds'],
    ['another coin', send('5', 'uatom'), 5, 'insufficient funds'],
    ['nothing', send('0'), 10, 'invalid coins'],
    ['less than nothing', send('-5'), 10, 'invalid coins'],
  ])('fails and costs its fee alone: %s', (_, message, code, words) => {
    const chain = new SmallChain();
    const executed = chain.run(message);
    expect(executed.code).toBe(code);
    expect(executed.log).toContain(words);
    expect(chain.balance(people.alice)).toBe(1_000_000n - fee);
    expect(chain.balance('lumera1somebodynew')).toBe(0n);
  });

  test('a transaction with less gas than it uses fails with the code of the chain', () => {
    const chain = new SmallChain();
    const scarce = transactionOf(chain.state, [send('5')], { gasLimit: 1000, fee: [{ denom: 'ulume', amount: '10' }] });
    const { code, log } = execute(chain.state, scarce, chain.block());
    expect(code).toBe(11);
    expect(log).toContain('out of gas');
  });
});
