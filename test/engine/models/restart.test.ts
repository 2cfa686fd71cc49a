import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../../src/engine/servers/postgres/postgres.ts';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { createWakeups } from '../../../src/engine/models/read/wakeups.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';
import { databaseOf, silent, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { expected } from './small-model.ts';
import { eventually } from '../../support/polling.ts';

test('projector, reader and wake-ups come back by themselves after PostgreSQL was killed', async () => {
  const dir = temporaryFolder();
  const start = () => startPostgres({ dir, say: () => undefined });
  let server = await start();
  onTestFinished(() => server.stop());
  const database = databaseOf(server.config, 'kills');
  await migrate(database);
  const log = new MemoryLog();
  const wakeups = createWakeups(database, silent);
  onTestFinished(() => wakeups.close());
  let seen = -1;
  wakeups.onMoved(({ sequence }) => (seen = sequence));
  startProjector(database, log);
  await eventually(() => expect(seen).toBe(0));

  for (const round of [1, 2]) {
    log.append(nodeFacts('a').listed({ note: `before ${round}` }));
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    await expect(database.tables()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const last = log.append(nodeFacts('b').listed({ note: `while away ${round}` }), nodeFacts('a').changed());
    server = await start();
    await eventually(() => expect(seen).toBe(last));
    expect(await database.tables()).toEqual(expected(log.facts));
  }
}, 60_000);
