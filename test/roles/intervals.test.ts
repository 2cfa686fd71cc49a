import { expect, test } from 'vitest';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createLog } from '../../src/engine/log/log.ts';
import { startChainStub } from '../support/chains/chain-stub.ts';
import { until } from '../support/polling.ts';
import { dataFolder } from '../support/programs/program.ts';
import { runProgram } from '../support/programs/run-program.ts';

const settings = {
  actions: 'ACTIONS_SYNC_INTERVAL',
  supernodes: 'SUPERNODES_SYNC_INTERVAL',
  validators: 'VALIDATORS_SYNC_INTERVAL',
  probes: 'PROBE_INTERVAL',
} as const;
type Source = keyof typeof settings;
const sources = Object.keys(settings) as Source[];

/** How many rounds each source has made by the time that those of `quick` have made several; the others wait a day. */
async function roundsWith(quick: readonly Source[]): Promise<Readonly<Record<Source, number>>> {
  await using stack = new AsyncDisposableStack();
  const stub = await startChainStub();
  stack.defer(stub.stop);
  const node = stub.chain.addSuperNode('probed', { prev_ip_addresses: [{ address: '127.9.9.9:4444', height: '1' }] });
  const intervals = sources.map((source) => [settings[source], quick.includes(source) ? '150ms' : '24h']);
  const env = { ...Object.fromEntries(intervals), CHAIN_API_BASE: stub.url, PROBE_PRIVATE_ADDRESSES: 'allow' };
  const program = await runProgram({ dataDir: dataFolder(), network: 'intervals', env });
  stack.defer(async () => void (await program.stop()));
  await program.untilReady();
  const { url, user, pass } = program.instance.nats as Readonly<{ url: string; user: string; pass: string }>;
  const nc = await connectNats({ url, user, pass, name: 'intervals' });
  stack.defer(() => nc.close());
  const log = createLog(nc, 'intervals');
  const made = async (source: Source): Promise<number> => {
    let rounds = 0;
    if (source === 'probes') {
      for await (const facts of log.history('probe', node, 0)) rounds += facts.length;
      return rounds;
    }
    for await (const facts of log.history('sync', source, 0))
      rounds += facts.filter(({ fact }) => fact.type === 'SyncRoundCompleted').length;
    return rounds;
  };
  const all = async () =>
    Object.fromEntries(await Promise.all(sources.map(async (one) => [one, await made(one)] as const)));
  return await until('rounds are made', async () => {
    const now = await all();
    return quick.every((source) => (now[source] ?? 0) >= 12) && (now as Record<Source, number>);
  });
}

test(
  'rounds follow the interval of their own source and no other',
  { tags: Object.values(settings).map((name) => `S2.env.${name}` as const), timeout: 240_000 },
  async () => {
    const first = await roundsWith(['actions', 'supernodes']);
    const second = await roundsWith(['validators', 'probes']);
    // One at the start, and one where another process, or this one anew, takes the lead on a busy machine.
    const few = 4;
    expect(Math.max(first.validators, first.probes)).toBeLessThan(few);
    expect(Math.max(second.actions, second.supernodes)).toBeLessThan(few);
  },
);
