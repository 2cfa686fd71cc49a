import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { methods } from '../../../../src/edges/evm/methods/all.ts';
import { namespaces } from '../../../../src/edges/evm/namespaces.ts';
import { randomOf } from '../../../../src/edges/local-network/random.ts';
import { type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';
import { malformed } from './malformed.ts';

const names = methods.map(({ name }) => name) as [string, ...string[]];
const count = 2_500;
const atOnce = 25;

const complaints: string[] = [];
let chain: SealingChain;
beforeAll(async () => {
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      complaints.push(line.toString());
      done();
    },
  });
  chain = await startSealingChain({ namespaces, logger: pino({ level: 'warn' }, stream) });
});
afterAll(async () => await chain.stop());

type One = Readonly<{ id?: unknown; result?: unknown; error?: Readonly<{ code: number; message: string }> }>;

/** What is wrong with the text of an answer: it has to be JSON-RPC, with a result or an error. */
function faultIn(text: string): string | undefined {
  const parsed = JSON.parse(text) as One | One[];
  const bad = [parsed].flat().find(({ id, result, error }) => {
    const isRefused = error && Number.isInteger(error.code) && error.code !== -32_603 && error.message !== '';
    const isAnswered = error ? isRefused : result !== undefined;
    return id === undefined || !isAnswered;
  });
  return bad && `answered ${JSON.stringify(bad)}`;
}

async function post(text: string): Promise<string | undefined> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(chain.url, { method: 'POST', headers, body: text });
  const body = await answer.text();
  if (answer.status === 204 && body === '') return undefined;
  return answer.status === 200 ? faultIn(body) : `HTTP ${answer.status}`;
}

const texts = (seed: string): string[] =>
  Array.from({ length: count }, (_, index) => malformed(randomOf(`${seed}/${index}`), names));

describe('malformed requests', () => {
  test(
    '2,500 over HTTP are answered with codes of JSON-RPC, and none is taken for a fault of ours',
    { tags: ['S1.evm.malformed', 'S1.evm.codes'], timeout: 120_000 },
    async () => {
      const faults: string[] = [];
      const left = texts('http');
      const client = async (): Promise<void> => {
        for (let text = left.pop(); text !== undefined; text = left.pop()) {
          const fault = await post(text);
          if (fault !== undefined) faults.push(`${text.slice(0, 300)}: ${fault}`);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, client));
      expect(faults).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  test(
    '2,500 over WebSocket are answered in their order, and the connection goes on',
    { tags: ['S1.evm.malformed', 'S1.evm.codes'], timeout: 120_000 },
    async () => {
      const socket = new WebSocket(chain.wsUrl);
      const heard: string[] = [];
      let hear = (): void => undefined;
      socket.on('message', (data: Buffer) => {
        heard.push(data.toString('utf8'));
        hear();
      });
      await once(socket, 'open');
      const left = texts('ws');
      while (left.length > 0) {
        for (const text of left.splice(0, atOnce)) socket.send(text);
        const id = `after ${left.length}`;
        const { promise, resolve } = Promise.withResolvers<void>();
        hear = () => {
          if (heard.at(-1)?.includes(id)) resolve();
        };
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_chainId' }));
        await promise;
      }
      const answers = heard.filter((text) => !text.includes('eth_subscription'));
      expect(answers.length).toBeGreaterThan(count * 0.9);
      expect(answers.flatMap((text) => faultIn(text) ?? [])).toEqual([]);
      expect(complaints).toEqual([]);
      socket.close();
    },
  );

  test(
    'bytes that are no HTTP end their connection on both ports',
    { tags: ['S1.evm.malformed'], timeout: 60_000 },
    async () => {
      for (const { port } of [new URL(chain.url), new URL(chain.wsUrl)])
        for (let index = 0; index < 50; index += 1) {
          const random = randomOf(`${index}/raw`);
          const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
          let said = '';
          socket.setEncoding('latin1').on('data', (text: string) => (said += text));
          socket.end(random.bytes(random.between(1, 300)));
          await once(socket, 'close');
          expect(said).not.toMatch(/^HTTP\/1\.1 5/);
        }
      expect(await post('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')).toBeUndefined();
    },
  );
});
