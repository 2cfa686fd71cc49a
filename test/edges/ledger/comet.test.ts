import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signerOf, type Message } from '../../../src/commands/ledger/messages.ts';
import { signedTransaction } from '../../../src/edges/chain/sign/wallet.ts';
import * as wire from '../../../src/edges/gen/chain/query/v1/query_pb.ts';
import { AuthInfoSchema, TxRawSchema } from '../../../src/edges/gen/chain/tx/v1/tx_pb.ts';
import { runLedger, type Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { localBeginning, localChainId } from '../../../src/edges/local-network/beginning.ts';
import { cast, freshLog, seed, silent } from './ledger-under-test.ts';

let ledger: Ledger;
let close: () => Promise<void>;
const { key, account: sender } = cast.bystander;

beforeAll(async () => {
  const fresh = await freshLog();
  const beginning = () => localBeginning(seed, Date.now());
  const { signal } = new AbortController();
  const ports = { host: '127.0.0.1', lcdPort: 0, rpcPort: 0 };
  ledger = await runLedger({ execution: executeInMemory, log: fresh.log, beginning, ...ports, logger: silent, signal });
  close = async () => {
    await ledger.stop();
    await fresh[Symbol.asyncDispose]();
  };
});
afterAll(async () => close?.());

type Answer = { id: unknown; result?: Record<string, never>; error?: { code: number; message: string; data: string } };

async function post(body: unknown): Promise<{ status: number; body: Answer }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${ledger.rpcUrl}/`, { method: 'POST', body: text });
  return { status: response.status, body: (await response.json()) as Answer };
}

async function get(path: string): Promise<{ status: number; body: Answer }> {
  const response = await fetch(`${ledger.rpcUrl}/${path}`);
  return { status: response.status, body: (await response.json()) as Answer };
}

async function call(method: string, params: object = {}): Promise<Record<string, unknown>> {
  const { body } = await post({ jsonrpc: '2.0', id: 12_345, method, params });
  expect(body).toMatchObject({ jsonrpc: '2.0', id: 12_345, result: expect.anything() as object });
  return body.result ?? {};
}

async function query(path: string, request: Uint8Array): Promise<{ code: number; log: string; value: string | null }> {
  const { response } = await call('abci_query', { path, data: Buffer.from(request).toString('hex') });
  return response as { code: number; log: string; value: string | null };
}

const bytesOf = (value: string | null): Uint8Array => Buffer.from(value ?? '', 'base64');

function transfer(): Uint8Array {
  const message: Message = {
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: sender,
    to_address: cast.realNodes[0]?.account.account ?? sender,
    amount: [{ denom: 'ulume', amount: '7' }],
  };
  const info = ledger.signerInfo(signerOf(message)) ?? { number: 0, sequence: 0 };
  return signedTransaction(key, [message], { chainId: localChainId, denom: 'ulume', ...info });
}

describe('the CometBFT RPC', () => {
  test('status names the chain and a version that clients of 0.38 know', async () => {
    expect(await call('status')).toMatchObject({
      node_info: { network: localChainId, version: expect.stringMatching(/^0\.38\./) as string },
      sync_info: { latest_block_height: expect.stringMatching(/^\d+$/) as string, catching_up: false },
      validator_info: { address: expect.stringMatching(/^[0-9A-F]{40}$/) as string },
    });
    expect(await get('status')).toMatchObject({ status: 200, body: { id: -1, result: { node_info: {} } } });
    expect(await call('health')).toEqual({});
  });

  test('abci_query answers the parameters and the fee of actions as protobuf', async () => {
    const params = await query('/lumera.action.v1.Query/Params', new Uint8Array());
    const read = fromBinary(wire.ActionParamsResponseSchema, bytesOf(params.value)).params;
    expect(read).toMatchObject({ baseActionFee: { denom: 'ulume', amount: '10000' }, maxRaptorQSymbols: 6n });
    const asked = toBinary(wire.ActionFeeRequestSchema, create(wire.ActionFeeRequestSchema, { dataSize: '9' }));
    const fee = await query('/lumera.action.v1.Query/GetActionFee', asked);
    expect(fromBinary(wire.ActionFeeResponseSchema, bytesOf(fee.value)).amount).toBe('10090');
  });

  test('abci_query refuses unknown paths, unknown accounts, future heights and what is no protobuf', async () => {
    expect(await query('/no.such.Query/Thing', new Uint8Array())).toMatchObject({ code: 6, value: null });
    const stranger = create(wire.AccountRequestSchema, { address: 'lumera10xcqpzrky6eff2g52qdye53xkk9jxkvrel68w3' });
    const missing = await query('/cosmos.auth.v1beta1.Query/Account', toBinary(wire.AccountRequestSchema, stranger));
    expect(missing).toMatchObject({ code: 22, log: expect.stringContaining('code = NotFound') as string });
    expect(await query('/cosmos.auth.v1beta1.Query/Account', Buffer.from([0x0a, 0x7f]))).toMatchObject({ code: 18 });
    const { response } = await call('abci_query', { path: '/lumera.action.v1.Query/Params', height: '999999' });
    expect(response).toMatchObject({ code: 26 });
  });

  test(
    'a transaction is simulated without a sign mode, sent, and found by its hash',
    { tags: ['S3.clients.rpc'] },
    async () => {
      const bytes = transfer();
      const raw = fromBinary(TxRawSchema, bytes);
      const auth = fromBinary(AuthInfoSchema, raw.authInfoBytes);
      for (const info of auth.signerInfos) delete info.modeInfo;
      delete auth.fee;
      const authInfoBytes = toBinary(AuthInfoSchema, auth);
      const txBytes = toBinary(
        TxRawSchema,
        create(TxRawSchema, { ...raw, authInfoBytes, signatures: [new Uint8Array()] }),
      );
      const asked = toBinary(wire.SimulateRequestSchema, create(wire.SimulateRequestSchema, { txBytes }));
      const simulated = await query('/cosmos.tx.v1beta1.Service/Simulate', asked);
      expect(simulated).toMatchObject({ code: 0 });
      const gas = fromBinary(wire.SimulateResponseSchema, bytesOf(simulated.value)).gasInfo;
      expect(Number(gas?.gasUsed)).toBeGreaterThan(10_000);

      const sent = await call('broadcast_tx_sync', { tx: Buffer.from(bytes).toString('base64') });
      expect(sent).toMatchObject({ code: 0, hash: expect.stringMatching(/^[0-9A-F]{64}$/) as string });
      const found = await call('tx_search', { query: `tx.hash='${String(sent['hash'])}'` });
      expect(found).toMatchObject({ total_count: '1', txs: [{ hash: sent['hash'], tx_result: { code: 0 } }] });
      const { body } = await get(`tx?hash=0x${String(sent['hash'])}`);
      expect(body).toMatchObject({ result: { hash: sent['hash'], tx: Buffer.from(bytes).toString('base64') } });
      const account = toBinary(wire.AccountRequestSchema, create(wire.AccountRequestSchema, { address: sender }));
      const answer = await query('/cosmos.auth.v1beta1.Query/Account', account);
      const any = fromBinary(wire.AccountResponseSchema, bytesOf(answer.value)).account;
      expect(fromBinary(wire.BaseAccountSchema, any?.value ?? new Uint8Array())).toMatchObject({
        address: sender,
        sequence: 1n,
        pubKey: { typeUrl: expect.stringContaining('PubKey') as string },
      });
      expect(await call('block')).toMatchObject({
        block_id: { hash: expect.stringMatching(/^[0-9A-F]{64}$/) as string },
        block: { header: { chain_id: localChainId } },
      });
    },
  );

  test('broadcast_tx_sync tells by its code why a transaction is not taken in', async () => {
    expect(await call('broadcast_tx_sync', { tx: 'AAAA' })).toMatchObject({ code: 2 });
    const bytes = Buffer.from(transfer());
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    expect(await call('broadcast_tx_sync', { tx: bytes.toString('base64') })).toMatchObject({ code: 4 });
  });

  test.each([
    ['text that is no JSON', '{', 400, -32700],
    ['a body beyond the bound', `"${'x'.repeat(600_000)}"`, 400, -32600],
    ['an empty batch', [], 400, -32600],
    ['a batch that is too long', Array.from({ length: 21 }, (_, id) => ({ id })), 400, -32600],
    ['a call of no version', { id: 1, method: 'status' }, 200, -32600],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'constructor' }, 200, -32601],
    ['parameters by place', { jsonrpc: '2.0', id: 1, method: 'block', params: ['1'] }, 200, -32602],
    ['a height that is no number', { jsonrpc: '2.0', id: 1, method: 'block', params: { height: 'abc' } }, 200, -32602],
    ['a height to come', { jsonrpc: '2.0', id: 1, method: 'block', params: { height: '999999999' } }, 200, -32603],
    [
      'a search that cannot be read',
      { jsonrpc: '2.0', id: 1, method: 'tx_search', params: { query: '=' } },
      200,
      -32603,
    ],
  ])('refuses %s', async (_what, body, status, code) => {
    expect(await post(body)).toMatchObject({ status, body: { error: { code } } });
  });

  test('a batch is answered call by call, with the ids as they came; GET of a wrong height is 500', async () => {
    const calls = [7, 'eight'].map((id) => ({ jsonrpc: '2.0', id, method: 'health', params: {} }));
    const { body } = await post([...calls, { jsonrpc: '2.0', method: 'health' }]);
    expect(body).toEqual([
      { jsonrpc: '2.0', id: 7, result: {} },
      { jsonrpc: '2.0', id: 'eight', result: {} },
    ]);
    expect(await get('block?height=abc')).toMatchObject({ status: 500, body: { error: { code: -32602 } } });
    expect((await fetch(`${ledger.rpcUrl}/nope`)).status).toBe(404);
  });
});
