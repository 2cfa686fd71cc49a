import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../src/commands/ledger/ante.ts';
import type { Message, Transaction } from '../../../src/commands/ledger/messages.ts';
import { people, request, SmallChain, transactionOf } from './small-chain.ts';

const coins = (amount: string, denom = 'ulume') => [{ denom, amount }];

describe('refusalOf', () => {
  test.each<[string, Message[], Partial<Transaction>, number | undefined, string | undefined]>([
    ['no message', [], {}, 18, 'must contain at least one message'],
    ['two signers', [request(), request({ creator: people.bob })], {}, 4, 'all messages must have the same signer'],
    ['an unknown account', [request({ creator: 'lumera1nobody' })], {}, 9, 'lumera1nobody does not exist'],
    ['rq_ids_ic 0', [request({ metadata: '{"rq_ids_ic":0}' })], {}, 18, 'rq_ids_ic is required'],
    ['a sequence that was', [request()], { sequence: 7 }, 32, 'expected 0, got 7'],
    ['a fee that is too small', [request()], { fee: coins('4999') }, 13, 'required: 5000ulume'],
    ['a fee in another coin', [request()], { fee: coins('5000', 'uatom') }, 13, 'insufficient fee'],
    ['more fee than there is', [request()], { fee: coins('1000001') }, 5, 'insufficient funds'],
    ['no gas', [request()], { gasLimit: 0 }, 11, 'out of gas'],
    ['too much gas', [request()], { gasLimit: 25_000_001 }, 11, 'out of gas'],
    ['a long memo', [request()], { memo: 'x'.repeat(257) }, 12, 'memo too large'],
    ['a height that has passed', [request()], { timeoutHeight: 2 }, 30, 'tx timeout height'],
    ['no key that is known', [request()], { publicKey: undefined }, 8, 'invalid pubkey'],
    ['nothing wrong', [request()], {}, undefined, undefined],
  ])('says what keeps a transaction out of every block: %s', (_, messages, changes, code, words) => {
    const { state } = new SmallChain();
    const refusal = refusalOf(state, transactionOf(state, messages, changes), { height: 3, ahead: 0 });
    expect(refusal?.code).toBe(code);
    if (words !== undefined) expect(refusal?.log).toContain(words);
  });

  test('counts the transactions of the account that wait already', () => {
    const { state } = new SmallChain();
    const second = transactionOf(state, [request()], { sequence: 1 });
    expect(refusalOf(state, second, { height: 1, ahead: 1 })).toBeUndefined();
    expect(refusalOf(state, second, { height: 1, ahead: 0 })).toMatchObject({ code: 32 });
  });

  test('holds an account to the key of its first transaction', () => {
    const chain = new SmallChain();
    chain.run(request());
    const other = { publicKey: { type: 'secp256k1', key: 'another' } } as const;
    const found = refusalOf(chain.state, transactionOf(chain.state, [request()], other), { height: 2, ahead: 0 });
    expect(found).toMatchObject({ code: 8 });
  });
});
