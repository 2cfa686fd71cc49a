import { expect, test } from 'vitest';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { testNats } from '../../support/programs/servers.ts';

test('connectNats takes credentials from the address, and any of several servers', async () => {
  const { url, user, pass } = testNats();
  const withSecret = url.replace('nats://', `nats://${user}:${encodeURIComponent(pass)}@`);
  const nc = await connectNats({ url: `nats://127.0.0.1:1, ${withSecret}`, name: 'test' });
  expect((await nc.request('$JS.API.INFO')).json()).toMatchObject({
    type: 'io.nats.jetstream.api.v1.account_info_response',
  });
  await nc.close();
});

test('connectNats speaks to a WebSocket address', async () => {
  const { wsUrl: url, user, pass } = testNats();
  const nc = await connectNats({ url, user, pass, name: 'test' });
  await nc.flush();
  await nc.close();
});

test('connectNats says where it found no broker, without the secret', async () => {
  const failing = connectNats({ url: 'nats://me:hush@127.0.0.1:1', name: 'test' });
  await expect(failing).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/^No broker .* nats:\/\/127\.0\.0\.1:1: (?!.*hush)/),
  });
});
