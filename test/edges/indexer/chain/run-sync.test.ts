import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requestSync } from '../../../../src/edges/indexer/rounds/request-sync.ts';
import { runSync, type SyncOptions } from '../../../../src/edges/indexer/rounds/run-sync.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { syncing, type Syncing } from '../../../support/chains/chain-stub-rounds.ts';
import { eventually } from '../../../support/polling.ts';

const hourMs = 3_600_000;
const longIntervals = { actions: hourMs, supernodes: hourMs, validators: hourMs };

/** Runs sync as the only holder of its lease until the test ends. */
function run({ url, log, profile }: Syncing, options: Partial<SyncOptions> = {}): { stop: () => Promise<void> } {
  const ending = new AbortController();
  const running = runSync({
    chainApiBase: url,
    profile,
    log,
    leases: { hold: (_name, signal, held) => held({ signal }) },
    intervalsMs: longIntervals,
    logger: pino({ level: 'silent' }),
    signal: ending.signal,
    ...options,
  });
  const stop = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  onTestFinished(stop);
  return { stop };
}

/** Gathers facts of the `SYNC` stream until they are as expected. */
async function roundsUntil({ news }: Syncing, isEnough: (facts: readonly Fact[]) => boolean): Promise<readonly Fact[]> {
  const facts: Fact[] = [];
  await eventually(async () => {
    facts.push(...(await news('SYNC')));
    if (!isEnough(facts)) throw new Error(`still only ${facts.map(({ type }) => type).join(', ')}`);
  });
  return facts;
}
const completed = (facts: readonly Fact[]): string[] =>
  facts.flatMap((fact) => (fact.type === 'SyncRoundCompleted' ? [fact.data.source] : []));

describe('runSync', () => {
  it('reads all three sources at once, and actions again on their interval', async () => {
    const own = await syncing();
    own.chain.register({});
    own.chain.addSuperNode('n');
    own.chain.addValidator('n');
    run(own, { intervalsMs: { ...longIntervals, actions: 100 } });
    const rounds = await roundsUntil(own, (facts) => completed(facts).length >= 5);
    expect(completed(rounds).toSorted().slice(-2)).toEqual(['supernodes', 'validators']);
    expect(rounds.filter(({ type }) => type === 'ChainIdentified')).toHaveLength(1);
    expect(await own.news('ACTIONS')).toHaveLength(1);
    expect(await own.news('NODES')).toHaveLength(2);
  });

  it(
    'answers a request at once with SuperNodes and validators, which name it as their cause',
    { tags: ['LS-21'] },
    async () => {
      const own = await syncing();
      run(own);
      await roundsUntil(own, (facts) => completed(facts).length === 3);
      const requested = await requestSync(own.log, '2026-11-21T12:00:00.000Z');
      expect(requested.joined).toBe(false);
      await roundsUntil(own, (facts) => completed(facts).length === 2);
      const asked = await own.log.readOne('SYNC', requested.sequence);
      for (const source of ['supernodes', 'validators']) {
        const last = (await own.log.last('sync', [source])).get(source);
        expect(last).toMatchObject({ causation: asked?.id });
        expect(last?.fact.data).not.toHaveProperty('known.request');
      }
    },
  );

  it('answers a request that was made before it began, and keeps it while the chain is out of reach', async () => {
    const own = await syncing();
    own.faults.instead = () => ({ status: 501, body: {} });
    const first = await requestSync(own.log, '2026-11-21T12:00:00.000Z');
    const broken = run(own);
    await roundsUntil(own, (facts) =>
      facts.some((fact) => fact.type === 'SyncRoundFailed' && fact.data.source === 'supernodes'),
    );
    await broken.stop();
    expect(await requestSync(own.log, '2026-11-21T12:00:01.000Z')).toEqual({ sequence: first.sequence, joined: true });
    own.faults.instead = () => undefined;
    run(own);
    await roundsUntil(own, (facts) => completed(facts).length === 3);
    const asked = await own.log.readOne('SYNC', first.sequence);
    const last = await own.log.last('sync', ['supernodes', 'validators']);
    expect([...last.values()].map((recorded) => 'causation' in recorded && recorded.causation)).toEqual([
      asked?.id,
      asked?.id,
    ]);
  });

  it('comes again soon after a failure, long before its interval', async () => {
    const own = await syncing();
    let isBroken = true;
    own.faults.instead = () => (isBroken ? { status: 501, body: {} } : undefined);
    run(own);
    const failed = (facts: readonly Fact[]): number => facts.filter(({ type }) => type === 'SyncRoundFailed').length;
    await roundsUntil(own, (facts) => failed(facts) >= 3);
    isBroken = false;
    await roundsUntil(own, (facts) => completed(facts).length === 3);
  });

  it('goes on with the other sources while the chain never answers for one', { tags: ['LS-25'] }, async () => {
    const own = await syncing();
    own.chain.register({});
    own.chain.addSuperNode('n');
    own.faults.raw = (url) => url.pathname.includes('/staking/');
    run(own, { intervalsMs: { ...longIntervals, actions: 50 } });
    const rounds = await roundsUntil(own, (facts) => completed(facts).length >= 5);
    expect(new Set(completed(rounds))).toEqual(new Set(['actions', 'supernodes']));
  });
});
