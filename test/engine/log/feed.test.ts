import { jetstreamManager } from '@nats-io/jetstream';
import { expect, onTestFinished, test } from 'vitest';
import { Feed } from '../../../src/engine/log/feed.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import { until } from '../../support/polling.ts';
import { connected } from './fresh-log.ts';

const megabytes = 1024 * 1024;

test('a reader that takes nothing holds a bounded number of bytes, and receives all that the broker kept meanwhile', async () => {
  const [nc, writing] = [await connected(), await connected()];
  const name = freshNetwork();
  const manager = await jetstreamManager(writing);
  await manager.streams.add({ name, subjects: [`${name}.large`] });
  onTestFinished(async () => void (await manager.streams.delete(name)));
  const [count, bytes] = [40, new Uint8Array(2 * megabytes)];
  for (let sent = 0; sent < count; sent += 1) await writing.request(`${name}.large`, bytes);

  const feed = await Feed.open(nc, name, { after: 0 });
  onTestFinished(() => feed.close());
  const [consumer] = await manager.consumers.list(name).next();
  const left = async () => await manager.consumers.info(name, consumer?.name ?? '');
  let quiet = 0;
  const rest = await until('it asks for no more', async () => {
    const { num_pending: pending, num_waiting: pulls } = await left();
    // Between two pulls none waits for a moment.
    quiet = pulls === 0 && pending < count ? quiet + 1 : 0;
    return pending === 0 || quiet === 10 ? { pending } : undefined;
  });
  // Half of the first 64 MB may be on the way when the other half has come.
  expect((count - rest.pending) * 2).toBeLessThanOrEqual(64);
  let read = 0;
  while (read < count) for (const { sequence } of await feed.take(3)) expect(sequence).toBe((read += 1));
});
