import { expect, it, onTestFinished } from 'vitest';
import { actionFacts, transactionAt } from '../../../support/histories/facts.ts';
import { seeded } from '../../../support/histories/random-history.ts';
import { historyOf, pathsOf } from './mixed-history.ts';
import { startMovingWorld } from './moving-world.ts';

/** How many histories; those in `npm test` are the first ones. */
const histories = Number(process.env['ANSWER_HISTORIES'] ?? 2);
const longestChunk = 12;

it.each(Array.from({ length: histories }, (_, at) => at + 1))(
  'every read is byte for byte what it is when computed anew, while facts change: history %i',
  async (seed) => {
    const { rest, append, token, fresh, close } = await startMovingWorld();
    onTestFinished(close);
    const random = seeded(seed);
    const facts = historyOf(seed);
    const paths = pathsOf(facts);
    const tags = new Map<string, string>();
    // What is counted incrementally is compared each time.
    const some = () => paths.filter((path) => path.endsWith('/action-stats') || random.chance(0.2));
    for (let at = 0; at < facts.length;) {
      const chunk = 1 + random.below(longestChunk);
      const headers = { prefer: 'wait=10', 'annals-position': token('ACTIONS', 'NODES', 'PROBES', 'SYNC') };
      // What is asked while they are applied is cached at positions in between.
      const meanwhile = some().map(async (path) => await rest.get(path, { headers }));
      append(...facts.slice(at, at + chunk));
      at += chunk;
      await Promise.all(meanwhile);
      if (random.chance(0.5)) continue;
      const now = { headers: { ...headers, 'annals-position': token('ACTIONS', 'NODES', 'PROBES', 'SYNC') } };
      const anew = await fresh();
      for (const path of some()) {
        const [cached, computed] = [await rest.get(path, now), await anew.get(path, now)];
        expect([path, at, cached.status, cached.text]).toEqual([path, at, computed.status, computed.text]);
        const tag = computed.headers.get('etag');
        const known = tags.get(path) ?? '""';
        const conditional = await rest.get(path, { headers: { ...now.headers, 'if-none-match': known } });
        const expected = known === tag ? [304, ''] : [computed.status, computed.text];
        expect([path, at, conditional.status, conditional.text]).toEqual([path, at, ...expected]);
        if (tag !== null) tags.set(path, tag);
        const named = ['etag', 'annals-position'].map((name) => cached.headers.get(name));
        expect(named).toEqual(['etag', 'annals-position'].map((name) => computed.headers.get(name)));
      }
      await anew.close();
    }
  },
);

it('ranges of heights among many blocks of ids are what they are when computed anew, after each fact', async () => {
  const { rest, append, token, fresh, close } = await startMovingWorld();
  onTestFinished(close);
  const random = seeded(3);
  const [blocks, apart] = [36, 1000];
  const stepsOf = Array.from({ length: blocks }, (_, at) => {
    const height = (random.chance(0.8) ? at : random.below(blocks)) * apart;
    const { registered, finalized } = actionFacts(String(at * 900 + 1));
    const stated = random.chance(0.9) ? { height, transaction: transactionAt(height) } : { height: undefined };
    return [registered(stated), finalized({ transaction: transactionAt(height + random.below(9) * apart) })];
  });
  const ranges = Array.from({ length: 8 }, () => {
    const [a, b] = [random.below(blocks) * apart, random.below(blocks) * apart];
    return `/v1/actions?limit=5&fromHeight=${Math.min(a, b)}&toHeight=${Math.max(a, b)}`;
  });
  append(...stepsOf.splice(0, blocks / 2).flatMap(([registered]) => (registered ? [registered] : [])));
  while (stepsOf.some((steps) => steps.length > 0)) {
    const fact = random.pick(stepsOf.filter((steps) => steps.length > 0) as [(typeof stepsOf)[0]]).shift();
    if (fact) append(fact);
    const headers = { prefer: 'wait=10', 'annals-position': token('ACTIONS') };
    const cached = await Promise.all(ranges.map(async (path) => (await rest.get(path, { headers })).text));
    if (random.chance(0.7)) continue;
    const anew = await fresh();
    expect(cached).toEqual(await Promise.all(ranges.map(async (path) => (await anew.get(path, { headers })).text)));
    await anew.close();
  }
});
