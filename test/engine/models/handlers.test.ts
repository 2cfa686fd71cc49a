import { expect, test } from 'vitest';
import { checkHandlers } from '../../../src/engine/models/engine/projector.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import type { AnyProjection } from '../../../src/projections/all.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { openDatabase, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { small } from './small-projection.ts';
import { eventually } from '../../support/polling.ts';

const changed: typeof small = {
  ...small,
  on: { ...small.on, SuperNodeRemoved: ({ node }) => [{ key: node, next: (row) => row ?? null }] },
};
const raised: AnyProjection = { ...changed, version: 2 };
const signal = new AbortController().signal;

test('checkHandlers refuses a start with handlers that were changed without a new version, and says what to do', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed());
  const check = (projection: AnyProjection) => checkHandlers({ pools, network, projections: [projection] });
  await check(changed);
  await rebuild({ pools, network, source: log, projection: small, signal });
  await check(small);
  await check({ ...small, version: 2 });
  await expect(check(changed)).rejects.toMatchObject({
    name: 'StopError',
    message: expect.stringMatching(
      /Generation 1 of supernodes was made by version 1 .* changed without a new version. Raise the version/,
    ),
  });
  await check(raised);
});

test('runProjector writes nothing with handlers that were changed without a new version, and builds the next generation with one', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const first = startProjector(database, log);
  log.append(nodeFacts('a').listed(), nodeFacts('a').removed(), nodeFacts('b').listed());
  await eventually(async () => expect(await database.live()).toMatchObject({ position: 3 }));
  await first.stop();

  const second = startProjector(database, log, { projections: [changed] });
  log.append(nodeFacts('c').listed());
  const refused = { generation: 1, position: 3, stoppedReason: expect.stringMatching(/changed without a new version/) };
  await eventually(async () => expect(await database.live()).toMatchObject(refused));
  await second.stop();

  startProjector(database, log, { projections: [raised] });
  const built = { generation: 2, version: 2, position: 4, stoppedReason: null };
  await eventually(async () => expect(await database.live()).toMatchObject(built));
  expect((await database.tables()).nodes).toMatchObject([{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
  expect((await database.tables()).nodes).toMatchObject([{ removed: false }, { removed: false }, { removed: false }]);
});
