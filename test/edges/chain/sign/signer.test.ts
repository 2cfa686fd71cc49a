import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PrivateKey } from '../../../../src/edges/chain/sign/keys.ts';
import { hashOf } from '../../../../src/edges/chain/sign/transaction-codec.ts';
import { signedTransaction } from '../../../../src/edges/chain/sign/wallet.ts';
import { requireAnnalsChain } from '../../../../src/roles/own-files.ts';
import { signerAt } from '../../../support/callers/signer-at.ts';

const key: PrivateKey = { type: 'secp256k1', bytes: new Uint8Array(32).fill(3) };
const message = { '@type': '/lumera.action.v1.MsgApproveAction', creator: 'lumera1a', actionId: '7' } as const;

/** What a chain does with a transaction. */
type Behaviour = Readonly<{
  /** Questions for the transaction before its block is there. */
  blocksAfter?: number;
  checkCode?: number;
  blockCode?: number;
  program?: string;
  /** The sequence that the chain expects, where what it shows of the account is behind. */
  expects?: number;
}>;

/** The REST of a chain as real ones have it: no mode BLOCK, a transaction is there a block after it was taken in. */
async function realChain({
  blocksAfter = 2,
  checkCode = 0,
  blockCode = 0,
  program = 'lumera',
  expects,
}: Behaviour = {}) {
  const modes: unknown[] = [];
  const seen = new Map<string, number>();
  const answers: Record<string, object> = {
    '/cosmos/auth/v1beta1/account_info': { info: { account_number: '1', sequence: '4' } },
    '/cosmos/bank/v1beta1/balances': { balance: { amount: '10' } },
    '/cosmos/base/tendermint/v1beta1/node_info': {
      default_node_info: { network: 'real-1' },
      application_version: { app_name: program },
    },
    '/Other/chain/action/v1/get_action_fee/3': { amount: '12' },
  };
  const posted = async (request: IncomingMessage): Promise<[number, object]> => {
    const { mode, tx_bytes: bytes } = (await json(request)) as Record<string, string>;
    modes.push(mode);
    if (mode === 'BROADCAST_MODE_BLOCK')
      return [500, { message: 'unsupported return type; supported types: sync, async' }];
    const txhash = hashOf(Buffer.from(bytes ?? '', 'base64'));
    seen.set(txhash, 0);
    if (expects !== undefined && seen.size === 1) {
      const words = `account sequence mismatch, expected ${expects}, got 4: incorrect account sequence`;
      return [200, { tx_response: { txhash, code: 32, raw_log: words, height: '0' } }];
    }
    return [200, { tx_response: { txhash, code: checkCode, raw_log: checkCode === 0 ? '' : 'refused', height: '0' } }];
  };
  const sealed = (hash: string): [number, object] => {
    const times = seen.get(hash);
    seen.set(hash, (times ?? 0) + 1);
    if (times === undefined || times < blocksAfter) return [404, { message: 'tx not found' }];
    const events = [{ type: 'action_approved', attributes: [] }];
    return [200, { tx_response: { txhash: hash, code: blockCode, raw_log: 'ran', height: '9', events } }];
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const known = Object.entries(answers).find(([route]) => path.startsWith(route))?.[1];
    const [status, body] =
      request.method === 'POST'
        ? await posted(request)
        : path.startsWith('/cosmos/tx/v1beta1/txs/')
          ? sealed(path.split('/').at(-1) ?? '')
          : [known ? 200 : 404, known ?? {}];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, modes, seen };
}

describe('a transaction of ours', () => {
  it('goes to a chain that has no mode BLOCK, and is there with its block', { tags: ['S1.chain.sync'] }, async () => {
    const { url, modes } = await realChain();
    const { height, events } = await signerAt(url).send(key, [message]);
    expect([height, events.map(({ type }) => type), modes]).toEqual([9, ['action_approved'], ['BROADCAST_MODE_SYNC']]);
  });

  it('is signed anew where the chain shows an account that is behind', { tags: ['S1.chain.sync'] }, async () => {
    const { url, seen } = await realChain({ expects: 6 });
    expect(await signerAt(url).send(key, [message])).toMatchObject({ height: 9 });
    const signing = { chainId: 'real-1', denom: 'ulume', number: 1 };
    const hashes = [4, 6].map((sequence) => hashOf(signedTransaction(key, [message], { ...signing, sequence })));
    expect([...seen.keys()]).toEqual(hashes);
  });

  it('is waited for where the chain has it already', { tags: ['S1.chain.sync'] }, async () => {
    const { url } = await realChain({ checkCode: 19 });
    expect(await signerAt(url).send(key, [message])).toMatchObject({ height: 9 });
  });

  it('fails as the chain refuses it, at once or in its block', { tags: ['S1.chain.sync'] }, async () => {
    for (const how of [{ checkCode: 5 }, { blockCode: 5 }]) {
      const { url } = await realChain(how);
      await expect(signerAt(url).send(key, [message])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('that no block takes is of unknown fate', { tags: ['S1.chain.sync'] }, async () => {
    const { url } = await realChain({ blocksAfter: Infinity });
    const sending = signerAt(url, { sealedWithinMs: 100 }).send(key, [message]);
    await expect(sending).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/unknown/) });
  });

  it('is waited for no longer than its signal allows', { tags: ['S1.chain.sync'] }, async () => {
    const { url, seen } = await realChain({ blocksAfter: Infinity });
    const ending = new AbortController();
    const sending = signerAt(url, { signal: ending.signal }).send(key, [message]);
    sending.catch(() => undefined);
    await expect.poll(() => seen.size).toBe(1);
    ending.abort();
    await expect(sending).rejects.toThrow();
  });
});

it('the price of an action is asked for below the prefix of the network', { tags: ['S1.chain.sync'] }, async () => {
  const { url } = await realChain();
  expect(await signerAt(url, { restPrefix: '/Other/chain' }).actionFee(3)).toBe(12n);
});

it('an answer without an end is given up', { tags: ['S1.chain.sync'] }, async () => {
  let sent = 0;
  const server = createServer((_request, response) => {
    const more = (): void => {
      sent += 2 ** 20;
      if (!response.destroyed) response.write(Buffer.alloc(2 ** 20, ' '), () => setImmediate(more));
    };
    more();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const client = signerAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(client.actionFee(3)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(sent).toBeLessThan(64 * 2 ** 20);
});

it('files are taken over a chain of Annals alone', { tags: ['S1.cascade.real-chain'] }, async () => {
  const { signal } = new AbortController();
  const real = signerAt((await realChain()).url);
  await expect(requireAnnalsChain(real, signal)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('NODE_CASCADE=off'),
  });
  await requireAnnalsChain(signerAt((await realChain({ program: 'annals' })).url), signal);
});
