import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { accountOfEvm } from '../../../src/edges/chain/sign/addresses.ts';
import { signTransaction } from '../../../src/edges/chain/sign/transaction-codec.ts';
import { localBeginning, localChainId } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import vectors from '../../fixtures/cosmos-transactions.json' with { type: 'json' };
import { ask, freshLog, seed, silent } from './ledger-under-test.ts';

const path = '/cosmos/tx/v1beta1/txs';
const [ethereum, cosmos] = developmentAccounts();
if (!ethereum || !cosmos) throw new AppError('INTERNAL', 'there are no development accounts');

const collector = localBeginning(seed, 0).genesis.modules.feeCollector;
const contractAccount = (number: number) => accountOfEvm(`0x${number.toString(16).padStart(40, '0')}`);

let ledger: Ledger;
let close: () => Promise<void>;

beforeAll(async () => {
  const fresh = await freshLog();
  const beginning = () => {
    const begun = localBeginning(seed, Date.now());
    const accounts = developmentAccounts().map(({ account }) => ({ address: account, balance: '1000000' }));
    return { ...begun, genesis: { ...begun.genesis, accounts } };
  };
  const { signal } = new AbortController();
  ledger = await runLedger({
    execution: executeInMemory,
    log: fresh.log,
    beginning,
    host: '127.0.0.1',
    lcdPort: 0,
    logger: silent,
    signal,
  });
  close = async () => {
    await ledger.stop();
    await fresh[Symbol.asyncDispose]();
  };
});
afterAll(async () => close?.());

const post = (route: string, body: unknown) =>
  ask(ledger, route, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
const broadcast = async (txBytes: string, mode = 'BROADCAST_MODE_SYNC') => {
  const { status, body } = await post(path, { tx_bytes: txBytes, mode });
  const answer: Record<string, unknown> = { status, ...(body as { tx_response: object }).tx_response };
  return answer;
};
const balanceOf = async (address: string) => {
  const { body } = await ask(ledger, `/cosmos/bank/v1beta1/balances/${address}/by_denom?denom=ulume`);
  return Number((body as { balance: { amount: string } }).balance.amount);
};
const account = async (address: string) => {
  const { body } = await ask(ledger, `/cosmos/auth/v1beta1/accounts/${address}`);
  return (body as { account: { sequence: string; account_number: string; pub_key: unknown } }).account;
};

const send = (recipient: string) =>
  ({
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: cosmos.account,
    to_address: recipient,
    amount: [{ denom: 'ulume', amount: '7' }],
  }) as const;

/** A transfer by a development account, right but for what is changed. */
async function transfer(changes: Partial<Parameters<typeof signTransaction>[1]> = {}, from = cosmos): Promise<string> {
  if (!from) throw new AppError('INTERNAL', 'nobody signs');
  const { account_number: number, sequence } = await account(from.account);
  const bytes = signTransaction(from.key, {
    chainId: localChainId,
    accountNumber: Number(number),
    sequence: Number(sequence),
    messages: [
      {
        '@type': '/cosmos.bank.v1beta1.MsgSend',
        from_address: from.account,
        to_address: vectors.recipient,
        amount: [{ denom: 'ulume', amount: '7' }],
      },
    ],
    fee: [{ denom: 'ulume', amount: '2000' }],
    gasLimit: 200_000,
    ...changes,
  });
  return Buffer.from(bytes).toString('base64');
}

describe('POST /cosmos/tx/v1beta1/txs', () => {
  test.each(vectors.transactions)(
    'carries out what CosmJS signed: $type, $mode',
    async ({ txBytes, hash, address, pubkey, type, sequence }) => {
      const before = await balanceOf(vectors.recipient);
      expect(await broadcast(txBytes)).toMatchObject({ status: 200, code: 0, txhash: hash, height: '0' });
      expect(await balanceOf(vectors.recipient)).toBe(before + 12_345);
      const url =
        type === 'secp256k1' ? '/cosmos.crypto.secp256k1.PubKey' : '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey';
      expect(await account(address)).toMatchObject({
        sequence: String(sequence + 1),
        pub_key: { '@type': url, key: pubkey },
      });
      const { body } = await ask(ledger, `${path}/${hash}`);
      expect(body).toMatchObject({ tx_response: { txhash: hash, code: 0, gas_wanted: '200000' } });
    },
  );

  test('gives the same answer to the same bytes, carried out once', async () => {
    const bytes = await transfer();
    const first = await broadcast(bytes);
    const before = await balanceOf(vectors.recipient);
    expect(await broadcast(bytes)).toEqual(first);
    expect(await balanceOf(vectors.recipient)).toBe(before);
  });

  test('an address in capitals is read as the same account', async () => {
    const capitals = cosmos.account.toUpperCase();
    expect(await balanceOf(capitals)).toBe(await balanceOf(cosmos.account));
    expect(await account(capitals)).toEqual(await account(cosmos.account));
  });

  test('tells in block mode what a transaction came to', async () => {
    const answer = await broadcast(await transfer(), 'BROADCAST_MODE_BLOCK');
    expect(answer).toMatchObject({ code: 0, height: expect.stringMatching(/^[1-9]/), gas_used: '62000' });
  });

  test.each([
    ['another chain', { chainId: 'lumera-mainnet-1' }, 4],
    ['another account number', { accountNumber: 99 }, 4],
    ['a sequence that was', { sequence: 0 }, 32],
    ['a sequence to come', { sequence: 1000 }, 32],
    ['too small a fee', { fee: [{ denom: 'ulume', amount: '1999' }] }, 13],
    ['a fee in another coin', { fee: [{ denom: 'uatom', amount: '2000' }] }, 13],
    ['more than there is', { fee: [{ denom: 'ulume', amount: '999999999' }] }, 5],
    ['no gas', { gasLimit: 0 }, 11],
    ['a long memo', { memo: 'x'.repeat(300) }, 12],
    ['a memo of too many bytes', { memo: 'ü'.repeat(129) }, 12],
    ['a payment to the fee collector', { messages: [send(collector)] }, 4],
    ['a payment to a system contract', { messages: [send(contractAccount(0x901))] }, 4],
    ['a payment to a built-in contract', { messages: [send(contractAccount(0x11))] }, 4],
    ['no message', { messages: [] }, 18],
    ['a recipient in capitals', { messages: [send(vectors.recipient.toUpperCase())] }, 7],
    ['a recipient of half a byte', { messages: [send('lumera1phlvxl6')] }, 7],
    ['a recipient of no bytes', { messages: [send('lumera15szjde')] }, 7],
    ['a fee that another account is to pay', { payer: vectors.recipient }, 4],
    ['a fee that nobody granted', { granter: vectors.recipient }, 38],
  ])('refuses %s with the code of the chain and changes nothing', async (_, changes, code) => {
    const [{ height }, before] = [ledger.status(), await account(cosmos.account)];
    const answer = await broadcast(await transfer(changes));
    expect(answer).toMatchObject({
      status: 200,
      code,
      codespace: 'sdk',
      txhash: expect.stringMatching(/^[0-9A-F]{64}$/),
    });
    expect(ledger.status().height).toBe(height);
    expect(await account(cosmos.account)).toEqual(before);
  });

  test('refuses each signature with a changed bit, and each changed byte of what was signed', async () => {
    const bytes = Buffer.from(await transfer({}, ethereum), 'base64');
    const { height } = ledger.status();
    for (let at = 0; at < bytes.length; at += 3) {
      const broken = Buffer.from(bytes);
      broken[at] = (broken[at] ?? 0) ^ (1 << (at % 8));
      const answer = await broadcast(broken.toString('base64'));
      expect(answer['code'], `byte ${at}`).not.toBe(0);
    }
    expect(ledger.status().height).toBe(height);
  });

  test.each([
    ['no JSON', 'nonsense'],
    ['no object', '[]'],
    ['no bytes', '{}'],
    ['no base64', '{"tx_bytes":"***"}'],
    ['an unknown mode', '{"tx_bytes":"AA==","mode":"BROADCAST_MODE_NEVER"}'],
    ['a body that is too long', JSON.stringify({ tx_bytes: 'A'.repeat(600_000) })],
  ])('answers 400 to %s', async (_, body) => {
    expect(await post(path, body)).toMatchObject({ status: 400, body: { code: 3 } });
  });

  test('answers code 2 to bytes that are no transaction', async () => {
    for (const bytes of ['', 'nonsense', '\u0000\u0001\u0002'].map((text) =>
      Buffer.from(text || 'x').toString('base64'),
    ))
      expect(await broadcast(bytes)).toMatchObject({ status: 200, code: 2, codespace: 'sdk' });
  });
});

describe('POST /cosmos/tx/v1beta1/simulate', () => {
  test('tells the gas of a transaction without a signature and keeps nothing', async () => {
    const { height } = ledger.status();
    const { status, body } = await post('/cosmos/tx/v1beta1/simulate', {
      tx_bytes: await transfer({ chainId: 'any' }),
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ gas_info: { gas_used: '62000' }, result: { events: expect.any(Array) } });
    expect(ledger.status().height).toBe(height);
  });

  test('refuses a recipient that is no address, as the chain does', async () => {
    const tx_bytes = await transfer({ messages: [send('nobody')] });
    const { status, body } = await post('/cosmos/tx/v1beta1/simulate', { tx_bytes });
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 2, message: expect.stringContaining('invalid address nobody') });
    expect(await broadcast(tx_bytes)).toMatchObject({ code: 7, raw_log: expect.stringContaining('nobody') });
  });

  test.each([
    ['a fee beyond the balance', { fee: [{ denom: 'ulume', amount: '9'.repeat(30) }] }, 'spendable balance'],
    ['no message', { messages: [] }, 'must contain at least one message'],
  ])('refuses %s in the words of the chain', async (_, changes, words) => {
    const { status, body } = await post('/cosmos/tx/v1beta1/simulate', { tx_bytes: await transfer(changes) });
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 2, message: expect.stringContaining(words) });
  });

  test('refuses a body that is too long, and says that it reads no further on that connection', async () => {
    const { status, headers, body } = await post('/cosmos/tx/v1beta1/simulate', 'A'.repeat(512 * 1024 + 1));
    expect(status).toBe(400);
    expect(headers.get('connection')).toBe('close');
    expect(body).toMatchObject({ code: 3, message: expect.stringContaining('the body is longer than') });
  });

  test('refuses another sequence', async () => {
    const { status, body } = await post('/cosmos/tx/v1beta1/simulate', { tx_bytes: await transfer({ sequence: 99 }) });
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 2, message: expect.stringContaining('incorrect account sequence') });
  });
});
