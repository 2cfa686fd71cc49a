import { expect, it, onTestFinished } from 'vitest';
import { seeded } from '../../../support/histories/random-history.ts';
import { historyOf, pathsOf } from './mixed-history.ts';
import { startMovingWorld } from './moving-world.ts';

const longestChunk = 12;

it.each([1, 2])(
  'every read is byte for byte what it is when computed anew, while facts change: history %i',
  async (seed) => {
    const { rest, append, token, fresh, close } = await startMovingWorld();
    onTestFinished(close);
    const random = seeded(seed);
    const facts = historyOf(seed);
    const paths = pathsOf(facts);
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
        const named = ['etag', 'annals-position'].map((name) => cached.headers.get(name));
        expect(named).toEqual(['etag', 'annals-position'].map((name) => computed.headers.get(name)));
      }
      await anew.close();
    }
  },
);
