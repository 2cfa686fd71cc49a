import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Harm, harm, type Store } from '../support/victim/harm.ts';
import { openVictim, untilArchived, type Victim } from '../support/victim/victim.ts';
import { startChainStub } from '../support/chains/chain-stub.ts';
import { GrowingChain } from '../support/chains/growing-chain.ts';
import { until } from '../support/polling.ts';
import { dataFolder } from '../support/programs/program.ts';
import { type Random, seeded } from '../support/histories/random-history.ts';

const settings = { ACTIONS_SYNC_INTERVAL: '500ms', PROBE_INTERVAL: '1h', SCRUB_INTERVAL: '1s' };
const paths = ['/v1/actions?limit=100', '/v1/actions/stats', '/v1/supernodes/stats'];
const askAgainMs = 20;

/**
 * Each before a start of its server, which reads its files anew: one of a stream that nobody restored within the hour.
 */
const damages: readonly Readonly<{ store: Store; kind: Harm; part: string }>[] = [
  { store: 'nats', kind: 'flip', part: 'ACTIONS' },
  { store: 'db', kind: 'flip', part: 'base' },
  { store: 'nats', kind: 'delete', part: 'NODES' },
];

test('annals up finds damaged files of the log and of the database by itself, brings back all that was in them, and never answers wrongly', async () => {
  const stub = await startChainStub();
  const growing = new GrowingChain(stub.chain, seeded(4));
  for (let block = 0; block < 30; block++) growing.grow();
  const victim = await openVictim({ ...settings, CHAIN_API_BASE: stub.url }, dataFolder());
  const readers = await startReaders(victim.program().base);
  try {
    const random = seeded(1);
    for (const damage of damages) {
      await untilArchived(victim);
      const from = victim.logged();
      const did = await doHarm(victim, damage, random);
      await until(`it says what it found of ${did}`, () => victim.said(from));
      expect(await victim.mended(), did).toEqual([]);
    }
    const { right, wrong } = await readers.stop();
    expect(wrong).toEqual([]);
    expect(right).toBeGreaterThan(100);
  } finally {
    await readers.stop();
    await victim.close({ isKept: false });
    await stub.stop();
  }
}, 240_000);

async function doHarm(victim: Victim, damage: (typeof damages)[number], random: Random): Promise<string> {
  const tables = await victim.tables();
  const now = (): string => harm(victim.program().folder, { ...damage, tables, isLive: true }, random);
  return await victim.restartServer(damage.store, 'stop', now);
}

/**
 * Asks on a chain that stands still: whatever is answered is what was answered at first, or says that there is no
 * answer now.
 */
async function startReaders(base: string): Promise<{ stop: () => Promise<{ right: number; wrong: string[] }> }> {
  const ask = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${base}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const first = await Promise.all(paths.map(ask));
  expect(first.map(({ status }) => status)).toEqual(paths.map(() => 200));
  const wrong: string[] = [];
  let right = 0;
  let isEnding = false;
  const running = paths.map(async (path, at) => {
    while (!isEnding) {
      const { status, text } = await ask(path);
      if (status === 200 && text === first[at]?.text) right += 1;
      else if (status !== 503) wrong.push(`${path}: ${status} ${text.slice(0, 300)}`);
      await pause(askAgainMs);
    }
  });
  return {
    stop: async () => {
      isEnding = true;
      await Promise.all(running);
      return { right, wrong };
    },
  };
}
