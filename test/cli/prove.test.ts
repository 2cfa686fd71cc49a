import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { announce } from '../../src/engine/servers/instance.ts';
import { createProvenLogs } from '../../src/engine/archive/proof/serving.ts';
import { type Kept, keptLog, untilArchived } from '../engine/archive/kept.ts';
import { actionOf, appendFacts } from '../engine/log/fresh-log.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { until } from '../support/polling.ts';
import { testNats } from '../support/programs/servers.ts';
import { jsonLines, runVerb } from '../support/programs/verb.ts';

/** Both stores of a log of three actions whose checkpoint is signed, as verbs find them. */
async function announced(): Promise<Readonly<{ kept: Kept; folder: string }>> {
  const kept = await keptLog();
  kept.start();
  await appendFacts(kept.log, ['a', 'b', 'c'].map(actionOf));
  await untilArchived(kept, 'ACTIONS');
  const logs = createProvenLogs({ pools: kept.store.pools, network: kept.network });
  await until('a checkpoint is signed', async () => (await logs.checkpoint('ACTIONS'))?.size === 3);
  const { folder, remove } = freshFolder();
  onTestFinished(remove);
  const { network, postgres } = kept;
  const about = { pid: process.pid, startedAt: new Date().toISOString(), urls: {}, nats: testNats() };
  await announce({ dataDir: folder, network }, { ...about, network, postgres });
  return { kept, folder };
}

it('prove writes what verify accepts, and rekey begins another log that it is proven in as well', async () => {
  const { folder, kept } = await announced();
  const out = path.join(folder, 'out-of-the-log');
  const proven = await runVerb(folder, 'prove', 'actions', '2', '--out', folder, '--json');
  expect(proven).toMatchObject({ status: 0, stderr: '' });
  const [{ event, proof, vkey } = {}] = jsonLines(proven) as Record<string, string>[];
  const check = async (): ReturnType<typeof runVerb> =>
    await runVerb(folder, 'verify', event ?? '', proof ?? '', '--vkey', vkey ?? '', '--json');
  expect(jsonLines(await check())).toMatchObject([{ sequence: 2, size: 3 }]);
  const bytes = readFileSync(event ?? '');
  writeFileSync(event ?? '', bytes.subarray(1));
  expect((await check()).status).toBe(1);

  const refused = await Promise.all([
    runVerb(folder, 'prove', 'ACTIONS', '2', '--out', folder),
    runVerb(folder, 'prove', 'ACTIONS', '4'),
    runVerb(folder, 'prove', 'ACTIONS', '0'),
    runVerb(folder, 'prove', 'POOL', '1'),
    runVerb(folder, 'prove', 'ACTIONS', '1', '--out', out),
    runVerb(folder, 'rekey'),
  ]);
  const reasons = [
    'is there already',
    'has 3 events',
    'no sequence',
    'no log of the name',
    'cannot be written',
    '--yes',
  ];
  for (const [index, reason] of reasons.entries()) {
    expect(refused[index]).toMatchObject({ status: 1, stdout: '' });
    expect(refused[index]?.stderr).toContain(reason);
  }

  const [{ streams } = {}] = jsonLines(await runVerb(folder, 'rekey', '--yes', '--json'));
  expect(streams).toContain('ACTIONS');
  const logs = createProvenLogs({ pools: kept.store.pools, network: kept.network });
  await until('another key signs', async () => ((await logs.checkpoint('ACTIONS'))?.vkey ?? vkey) !== vkey);
});
