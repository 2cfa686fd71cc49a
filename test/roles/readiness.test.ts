import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { openStores } from '../../src/roles/context.ts';
import { projector } from '../../src/roles/projector.ts';
import type { Part } from '../../src/roles/role.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { until } from '../support/polling.ts';
import { freshNetwork, serversIn } from '../support/programs/servers.ts';

it('finds the database there while readers have every connection of theirs', async () => {
  const made = freshFolder();
  const stop = new AbortController();
  const config = parseConfig({ DATA_DIR: made.folder, NETWORK: freshNetwork(), PORT: '0', DURABILITY: 'relaxed' });
  const servers = await serversIn(made.folder);
  const context = await openStores(config, servers, { logger: pino({ level: 'silent' }), signal: stop.signal });
  const parts: Part[] = [];
  onTestFinished(async () => {
    for (const part of parts.toReversed()) await part.stop();
    stop.abort();
    await Promise.all([context.pools.end(), context.broker.close()]);
    made.remove();
  });
  for await (const part of projector.start({ ...context, running: parts })) parts.push(part);
  const reasons = async () =>
    (await Promise.all(context.observed.checks.map(({ look }) => look()))).flatMap((found) => found.reasons ?? []);
  await until('the process is ready', async () => (await reasons()).length === 0);

  const { read } = context.pools;
  const held = await Promise.all(Array.from({ length: read.options.max }, () => read.connect()));
  onTestFinished(() => held.forEach((client) => client.release()));
  expect(await reasons()).toEqual([]);
});
