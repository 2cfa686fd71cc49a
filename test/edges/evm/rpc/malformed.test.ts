import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { namespaces } from '../../../../src/edges/evm/namespaces.ts';
import { randomOf } from '../../../../src/edges/local-network/random.ts';
import { until } from '../../../support/polling.ts';
import { type SealingChain, startSealingChain } from '../../../support/sealing-chain.ts';
import { malformedText } from './malformed-requests.ts';

/** The campaign of issue 18 sends 5,000. */
const count = Number(process.env['MALFORMED_REQUESTS'] ?? 300);

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ namespaces });
});
afterAll(async () => await chain.stop());

type Answer = Readonly<{ error?: Readonly<{ code: number; message: string }>; result?: unknown }>;

/** What blames us for what a client sent. */
function faults(text: string): readonly Answer[] {
  const answers = [JSON.parse(text) as Answer | Answer[]].flat();
  return answers.filter(({ error, result }) => (error ? error.code === -32603 : result === undefined));
}

const valid = '{"jsonrpc":"2.0","id":"good","method":"eth_chainId"}';

describe('malformed requests are answered as such', () => {
  test('over HTTP', async () => {
    const random = randomOf('malformed over HTTP');
    for (let at = 0; at < count; at += 1) {
      const body = malformedText(random);
      const response = await fetch(chain.url, { method: 'POST', body });
      const text = await response.text();
      expect([response.status, body.slice(0, 500)]).toEqual([text === '' ? 204 : 200, body.slice(0, 500)]);
      expect([body.slice(0, 2000), text === '' ? [] : faults(text)]).toEqual([body.slice(0, 2000), []]);
    }
    expect(await (await fetch(chain.url, { method: 'POST', body: valid })).text()).toContain('0x494c1a9');
  });

  test('over WebSocket', async () => {
    const random = randomOf('malformed over WebSocket');
    const socket = new WebSocket(chain.wsUrl);
    const heard: string[] = [];
    socket.on('message', (data: Buffer) => heard.push(data.toString('utf8')));
    await once(socket, 'open');
    for (let at = 0; at < count; at += 1) {
      heard.splice(0);
      const sent = malformedText(random);
      socket.send(sent);
      socket.send(valid);
      await until('the good request is answered', () => heard.some((text) => text.includes('"id":"good"')), 10_000);
      const wrong = heard.filter((text) => !text.includes('eth_subscription')).flatMap(faults);
      expect([sent.slice(0, 2000), wrong]).toEqual([sent.slice(0, 2000), []]);
    }
    socket.close();
  });
});
