import { readdirSync } from 'node:fs';
import path from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, wsconnect, type NatsConnection } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { startNats } from '../../../../src/engine/servers/nats/nats-server.ts';
import { killWhileStarting, temporaryFolder } from '../../../support/programs/processes.ts';
import { freshNetwork, testNats } from '../../../support/programs/servers.ts';
import { steadyPort } from '../../../support/programs/steady-port.ts';

const KINDS = ['TCP', 'WebSocket'] as const;

const closing = (connection: NatsConnection): NatsConnection => {
  onTestFinished(() => connection.close());
  return connection;
};

const ourselves = async ({ url, user, pass } = testNats()) => closing(await connect({ servers: url, user, pass }));

const outsiders = {
  TCP: async () => closing(await connect({ servers: testNats().url })),
  WebSocket: async () => closing(await wsconnect({ servers: testNats().wsUrl })),
};

test.for(KINDS)('an outsider over %s sees what a stream republishes as live.>', async (kind) => {
  const network = freshNetwork();
  const owner = await ourselves();
  const stream = { name: network, subjects: [`evt.*.${network}.>`], republish: { src: 'evt.>', dest: 'live.>' } };
  await (await jetstreamManager(owner)).streams.add(stream);
  const outsider = await outsiders[kind]();
  const seen = outsider.subscribe(`live.probe.${network}.>`, { max: 1 });
  await outsider.flush();
  await jetstream(owner).publish(`evt.probe.${network}.node`, 'fact');
  const messages = await Array.fromAsync(seen, (message) => [message.subject, message.string()]);
  expect(messages).toEqual([[`live.probe.${network}.node`, 'fact']]);
});

test.for(KINDS)('an outsider over %s may subscribe to nothing else', async (kind) => {
  const outsider = await outsiders[kind]();
  for (const subject of ['evt.>', '>', '$JS.>', '$SYS.>', '_INBOX.>', 'live']) {
    const refusal = new Promise<string>((resolve) => {
      outsider.subscribe(subject, { callback: (error) => resolve(error?.message ?? 'a message came through') });
    });
    expect(await refusal).toMatch(/permissions violation/i);
  }
});

test.for(KINDS)('an outsider over %s may publish nothing', async (kind) => {
  const outsider = await outsiders[kind]();
  const owner = await ourselves();
  const statuses = outsider.status()[Symbol.asyncIterator]();
  const arrived: string[] = [];
  owner.subscribe('>', { callback: (_error, message) => void arrived.push(message.subject) });
  await owner.flush();
  for (const subject of ['live.forged', 'evt.forged', '$JS.API.INFO', 'forged']) {
    outsider.publish(subject, 'x');
    await outsider.flush();
    expect((await statuses.next()).value).toMatchObject({ type: 'error', error: { operation: 'publish', subject } });
  }
  await owner.flush();
  expect(arrived.filter((subject) => subject.includes('forged'))).toEqual([]);
});

test('the account of outsiders has bounds of its own', async () => {
  const outsider = await outsiders.TCP();
  const owner = await ourselves();
  expect([outsider.info?.max_payload, owner.info?.max_payload]).toEqual([64 << 10, 8 << 20]);
});

test('wrong credentials are refused, not taken for an outsider', async () => {
  await expect(connect({ servers: testNats().url, user: 'annals', pass: 'guessed' })).rejects.toThrow(/authorization/i);
});

test('startNats after kill -9 of the server takes the same ports, keeps what was stored, and clients come back', async () => {
  const dir = temporaryFolder();
  const [port, wsPort] = [await steadyPort(), await steadyPort()];
  const options = { dir, host: '127.0.0.1', port, wsPort, say: () => undefined };
  const first = await startNats(options);
  const { url, user, pass } = first;
  const client = closing(await connect({ servers: url, user, pass, reconnectTimeWait: 50, reconnectJitter: 0 }));
  await (await jetstreamManager(client)).streams.add({ name: 'KEPT', subjects: ['kept'] });
  await jetstream(client).publish('kept', 'fact');

  const cameBack = statusOf(client, 'reconnect');
  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toContain('was ended by SIGKILL');
  const second = await startNats(options);
  onTestFinished(() => second.stop());
  expect([second.url, second.wsUrl, second.pass]).toEqual([first.url, first.wsUrl, first.pass]);

  await cameBack;
  const { state } = await (await jetstreamManager(client)).streams.info('KEPT');
  expect(state.messages).toBe(1);
  const variables = await (await fetch(`${second.monitorUrl}/varz`)).json();
  expect(variables).toMatchObject({ jetstream: { config: { sync_always: true } } });
});

async function statusOf(connection: NatsConnection, type: string): Promise<void> {
  for await (const status of connection.status()) if (status.type === type) return;
}

test.each([0, 3, 6, 10, 15, 20, 30, 40, 60, 90])(
  'a server that is killed %i ms into its start is no damaged one: nothing is moved aside',
  async (afterMs) => {
    const dir = temporaryFolder();
    const options = { dir, host: '127.0.0.1', port: 0, wsPort: 0, say: () => undefined };
    const first = await startNats(options);
    const owner = await ourselves(first);
    const manager = await jetstreamManager(owner);
    await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
    await jetstream(owner).publish('kept', 'a fact');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const starting = startNats(options);
    await killWhileStarting(path.join(dir, 'nats.pid'), first.pid, afterMs);
    const started = await starting.catch((error: Error) => error);
    if (!(started instanceof Error)) await started.stop();
    expect(readdirSync(dir).filter((name) => name.includes('damaged'))).toEqual([]);
    const last = await startNats(options);
    onTestFinished(() => last.stop());
    const info = await (await jetstreamManager(await ourselves(last))).streams.info('KEPT');
    expect(info.state.messages).toBe(1);
  },
);
