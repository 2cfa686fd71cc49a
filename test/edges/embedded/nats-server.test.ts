import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, wsconnect, type NatsConnection } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { startNats } from '../../../src/edges/embedded/nats-server.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { freshNetwork, testNats } from '../../support/servers.ts';

const closing = (connection: NatsConnection): NatsConnection => {
  onTestFinished(() => connection.close());
  return connection;
};

const ourselves = async ({ url, user, pass } = testNats()) => closing(await connect({ servers: url, user, pass }));

const outsiders = {
  TCP: async () => closing(await connect({ servers: testNats().url })),
  WebSocket: async () => closing(await wsconnect({ servers: testNats().wsUrl })),
};

test.for(['TCP', 'WebSocket'] as const)(
  'an outsider over %s sees what a stream republishes as live.>',
  async (kind) => {
    const network = freshNetwork();
    const owner = await ourselves();
    const manager = await jetstreamManager(owner);
    const republish = { src: `evt.*.${network}.>`, dest: `live.{{wildcard(1)}}.${network}.>` };
    await manager.streams.add({
      name: network,
      subjects: [`evt.*.${network}.>`],
      republish: { src: `evt.>`, dest: `live.>` },
    });
    expect(republish.src).toContain(network);
    const outsider = await outsiders[kind]();
    const seen = outsider.subscribe(`live.probe.${network}.>`, { max: 1 });
    await outsider.flush();
    await jetstream(owner).publish(`evt.probe.${network}.node`, 'fact');
    for await (const message of seen) {
      expect([message.subject, message.string()]).toEqual([`live.probe.${network}.node`, 'fact']);
    }
  },
);

test.for(['TCP', 'WebSocket'] as const)('an outsider over %s may subscribe to nothing else', async (kind) => {
  const outsider = await outsiders[kind]();
  for (const subject of ['evt.>', '>', '$JS.>', '$SYS.>', '_INBOX.>', 'live']) {
    const refusal = new Promise<string>((resolve) => {
      outsider.subscribe(subject, { callback: (error) => resolve(error?.message ?? 'a message came through') });
    });
    expect(await refusal).toMatch(/permissions violation/i);
  }
});

test.for(['TCP', 'WebSocket'] as const)('an outsider over %s may publish nothing', async (kind) => {
  const outsider = await outsiders[kind]();
  const owner = await ourselves();
  const refusals = outsider.status()[Symbol.asyncIterator]();
  const arrived: string[] = [];
  owner.subscribe('>', { callback: (_error, message) => void arrived.push(message.subject) });
  await owner.flush();
  for (const subject of ['live.forged', 'evt.forged', '$JS.API.INFO', 'forged']) {
    outsider.publish(subject, 'x');
    await outsider.flush();
    const { value } = await refusals.next();
    expect(value).toMatchObject({ type: 'error', error: { operation: 'publish', subject } });
  }
  await owner.flush();
  expect(arrived.filter((subject) => subject.includes('forged'))).toEqual([]);
});

test('wrong credentials are refused, not taken for an outsider', async () => {
  await expect(connect({ servers: testNats().url, user: 'annals', pass: 'guessed' })).rejects.toThrow(/authorization/i);
});

test('startNats after kill -9 of the server takes the same ports, keeps what was stored, and clients come back', async () => {
  const dir = temporaryFolder();
  const options = { dir, host: '127.0.0.1', say: () => undefined };
  const first = await startNats({ ...options, port: 0, wsPort: 0 });
  const client = await ourselves(first);
  await (await jetstreamManager(client)).streams.add({ name: 'KEPT', subjects: ['kept'] });
  await jetstream(client).publish('kept', 'fact');

  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toContain('was ended by SIGKILL');
  const [port, wsPort] = [first.url, first.wsUrl].map((url) => Number(new URL(url).port)) as [number, number];
  const second = await startNats({ ...options, port, wsPort });
  onTestFinished(() => second.stop());
  expect([second.url, second.wsUrl, second.pass]).toEqual([first.url, first.wsUrl, first.pass]);

  const { state } = await reconnected(client, async () => (await jetstreamManager(client)).streams.info('KEPT'));
  expect(state.messages).toBe(1);
  const variables = await (await fetch(`${second.monitorUrl}/varz`)).json();
  expect(variables).toMatchObject({ jetstream: { config: { sync_always: true } } });
});

/** What a client answers once it has found the server again. */
async function reconnected<T>(client: NatsConnection, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (client.isClosed()) throw error;
    }
  }
}
