import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

const complaints: string[] = [];
let chain: SealingChain;
beforeAll(async () => {
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      complaints.push(line.toString());
      done();
    },
  });
  chain = await startSealingChain({ logger: pino({ level: 'warn' }, stream) });
});
afterAll(async () => await chain.stop());

const asked = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

async function post(body: string, type = 'application/json'): Promise<Response> {
  const headers = type === '' ? [] : [['content-type', type] as [string, string]];
  return await fetch(chain.url, { method: 'POST', headers, body: new TextEncoder().encode(body) });
}
const answerTo = async (body: string): Promise<string> => await (await post(body)).text();
const codeOf = async (body: string): Promise<number | undefined> =>
  (JSON.parse(await answerTo(body)) as { error?: { code: number } }).error?.code;

describe('the body of a request', () => {
  test('is JSON by its type: what a page may send without leave is 415', { tags: ['S1.evm.simple'] }, async () => {
    const simple = [
      'text/plain',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      '',
    ];
    for (const type of simple) expect([type, (await post(asked, type)).status]).toEqual([type, 415]);
    const taken = ['application/json', 'Application/JSON; charset=utf-8', 'application/json-rpc'];
    for (const type of taken) expect([type, (await post(asked, type)).status]).toEqual([type, 200]);
  });

  test('beyond its bound gets a 413 that its sender can read', { tags: ['S1.evm.caps'] }, async () => {
    const { port } = new URL(chain.url);
    const socket = connect(Number(port), '127.0.0.1');
    let said = '';
    socket.setEncoding('latin1').on('data', (text: string) => (said += text));
    const size = 20 * 1024 * 1024;
    const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`;
    socket.write(head);
    socket.write(Buffer.alloc(size, ' '));
    const [hadError] = (await once(socket, 'close')) as [boolean];
    expect(said).toMatch(/^HTTP\/1\.1 413 /);
    expect(hadError).toBe(false);
  });

  test('may be nested as it likes and is never our fault', { tags: ['S1.evm.codes'] }, async () => {
    const deep = (open: string, close: string): string => open.repeat(50_000) + close.repeat(50_000);
    for (const params of [deep('[', ']'), `[${deep('[', ']')}]`, `[${deep('{"a":', '}').replace(':}', ':1}')}]`])
      expect(await codeOf(`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":${params}}`)).toBe(-32700);
    expect(await codeOf(deep('[', ']'))).toBe(-32700);
    expect(await codeOf('['.repeat(50_000))).toBe(-32700);
    expect(complaints).toEqual([]);
  });
});

describe('the id of a request', () => {
  test('comes back with all its digits', { tags: ['S1.evm.ids'] }, async () => {
    const ids = ['9007199254740993', '123456789012345678901234567890', '1e400', '-1.50', '"a\\u0000"', 'null', '7'];
    for (const id of ids) {
      const text = asked.replace('"id":1', `"id":${id}`);
      expect(await answerTo(text)).toBe(`{"jsonrpc":"2.0","id":${id},"result":"0x494c1a9"}`);
    }
    const params = '[{"id":18446744073709551617}]';
    const batch = `[{"jsonrpc":"2.0","id":18446744073709551616,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"eth_call","params":${params}}]`;
    expect(await answerTo(batch)).toMatch(/^\[\{"jsonrpc":"2\.0","id":18446744073709551616,"result":.*"id":2,/);
  });

  test('is text, a number or null: a list or an object is no request', { tags: ['S1.evm.ids'] }, async () => {
    for (const id of ['[]', '[1]', '{}', '{"a":1}', 'true']) {
      const answer: unknown = JSON.parse(await answerTo(asked.replace('"id":1', `"id":${id}`)));
      expect(answer).toMatchObject({ id: null, error: { code: -32600 } });
    }
  });
});

test('a number with zeros before it does not fit', { tags: ['S1.evm.codes'] }, async () => {
  const call = (method: string, params: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const address = `0x${'11'.repeat(20)}`;
  for (const number of ['0x00', '0x01', '0x000a'])
    for (const text of [
      call('eth_getBlockByNumber', [number, false]),
      call('eth_getBalance', [address, number]),
      call('eth_getBalance', [address, { blockNumber: number }]),
      call('eth_feeHistory', [number, 'latest']),
      call('eth_call', [{ to: address, value: number }, 'latest']),
      call('eth_getLogs', [{ fromBlock: number }]),
    ])
      expect([text, await codeOf(text)]).toEqual([text, -32602]);
  expect(await codeOf(call('eth_getStorageAt', [address, '0x00', '0x0']))).toBeUndefined();
});
