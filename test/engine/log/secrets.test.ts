import { expect, test } from 'vitest';
import { sharedSecret } from '../../../src/engine/log/secrets.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import { connected } from './fresh-log.ts';

test('sharedSecret is the same 32 bytes for all who race to create it, and another one under another name', async () => {
  const network = freshNetwork();
  const connections = await Promise.all(Array.from({ length: 5 }, () => connected()));
  const secrets = await Promise.all(connections.map((nc) => sharedSecret(nc, network, 'cursors')));
  const texts = secrets.map((secret) => Buffer.from(secret).toString('hex'));
  expect(new Set(texts).size).toBe(1);
  expect(secrets[0]).toHaveLength(32);
  const [nc] = connections;
  if (!nc) return;
  expect(await sharedSecret(nc, network, 'cursors')).toEqual(secrets[0]);
  expect(await sharedSecret(nc, network, 'others')).not.toEqual(secrets[0]);
  expect(await sharedSecret(nc, freshNetwork(), 'cursors')).not.toEqual(secrets[0]);
});
