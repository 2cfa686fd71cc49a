import { expect, test } from 'vitest';
import { createGate } from '../../../../src/edges/log/append/gate.ts';
import { gatedLog } from '../../../../src/edges/audit/guarded-log.ts';
import { until } from '../../../support/polling.ts';
import { appendFacts, actionOf, freshLog } from '../fresh-log.ts';

test('createGate holds an append back after a break of the connection until the stream is whole again', async () => {
  const { nc, log: ungated } = await freshLog();
  let isWhole = false;
  let asked = 0;
  const gate = createGate(nc, async () => {
    asked += 1;
    return await Promise.resolve(isWhole);
  });
  const log = gatedLog(ungated, gate);
  await appendFacts(log, [actionOf('before')]);
  expect(asked).toBe(0);

  const { lastSequence } = await log.head('ACTIONS');
  await nc.reconnect();
  await until('the gate has shut', async () => {
    void gate('ACTIONS').catch(() => undefined);
    return await Promise.resolve(asked > 0);
  });
  const appending = appendFacts(log, [actionOf('after')]);
  const already = asked;
  await until('it asks again', () => asked > already + 1);
  const found = await until('the broker answers again', () => log.head('ACTIONS').catch(() => undefined));
  expect(found.lastSequence).toBe(lastSequence);
  isWhole = true;
  await appending;
  expect((await log.head('ACTIONS')).lastSequence).toBe(lastSequence + 1);
});
