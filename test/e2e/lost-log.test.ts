import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { publicLogs } from '../../src/engine/archive/proof/serving.ts';
import type { StreamName } from '../../src/events/streams.ts';
import { startChainStub } from '../support/chains/chain-stub.ts';
import { GrowingChain } from '../support/chains/growing-chain.ts';
import { until } from '../support/polling.ts';
import { dataFolder, type Program, startProgram } from '../support/programs/program.ts';
import { openProgramLog } from '../support/programs/program-log.ts';
import { seeded } from '../support/histories/random-history.ts';

const settings = { ACTIONS_SYNC_INTERVAL: '500ms', PROBE_INTERVAL: '1h', SCRUB_INTERVAL: '1s' };
const kept = ['ACTIONS', 'NODES'] as const satisfies readonly StreamName[];

test('annals up brings the whole log back from the archive before anybody writes, and goes on with it', async () => {
  const stub = await startChainStub();
  const growing = new GrowingChain(stub.chain, seeded(3));
  for (let block = 0; block < 30; block++) growing.grow();
  const options = { dataDir: dataFolder(), env: { ...settings, CHAIN_API_BASE: stub.url } };
  const first = await startProgram(options);
  await first.untilReady();
  const before = await contentOf(first);
  const logs = await signedLogs(first);
  expect(logs.filter(({ size }) => size === 0).length).toBeGreaterThan(0);
  expect(before.ACTIONS.length).toBeGreaterThan(10);
  expect(await first.stop()).toBe(0);

  rmSync(path.join(first.folder, 'nats', 'js'), { recursive: true });
  const second = await startProgram(options);
  await second.untilReady();
  expect(await contentOf(second)).toEqual(before);
  // Those that are empty still among them: whoever saw a checkpoint of size 0 is owed one that goes on from it.
  const named = ({ stream, origin, vkey }: SignedLog) => ({ stream, origin, vkey });
  expect((await signedLogs(second)).map(named)).toEqual(logs.map(named));
  const readiness = await (await fetch(`${second.base}/readyz`)).text();
  expect(readiness).toContain('The broker has no stream ACTIONS');

  for (let block = 0; block < 5; block++) growing.grow();
  await until('new facts follow', async () => (await contentOf(second)).ACTIONS.length > before.ACTIONS.length);
  expect(await second.stop()).toBe(0);
  await stub.stop();
});

type SignedLog = Readonly<{ stream: string; origin: string; vkey: string; size: number }>;

/** The logs of a program, once every one of them is signed. */
async function signedLogs({ base }: Program): Promise<readonly SignedLog[]> {
  const proven = publicLogs.length;
  return await until('every log is signed', async () => {
    const { logs } = (await (await fetch(`${base}/v1/logs`)).json()) as { logs: SignedLog[] };
    return logs.length === proven && logs;
  });
}

/** Incarnation and every event of the streams that chance has no part in. */
async function contentOf({ instance }: Program): Promise<Record<(typeof kept)[number], unknown[]>> {
  const log = await openProgramLog(instance);
  const read = async (stream: StreamName) => [(await log.head(stream)).incarnation, ...(await log.factsOf(stream))];
  const content = { ACTIONS: await read('ACTIONS'), NODES: await read('NODES') };
  await log.close();
  return content;
}
