import { expect } from 'vitest';
import type { Log } from '../../../src/engine/log/log.ts';
import { entityOf } from '../../../src/events/catalogue.ts';
import type { FaultyLink } from './faulty-link.ts';
import { cause, decision, everything, probeOf } from './fresh-log.ts';

const total = 600;
const writers = 32;

/**
 * Appends by many over a link that loses answers and breaks again and again; expects each fact in the log exactly once.
 */
export async function appendWhileBreaking({
  log,
  over,
  link,
}: {
  log: Log;
  over: Log;
  link: FaultyLink;
}): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < total) {
      const i = next++;
      if (i % 200 === 100) {
        link.deafen();
        void log.head('PROBES').then(link.cut);
      }
      await over.append([decision(0, probeOf(`n${i}`))], cause);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const facts = await everything(log, 'PROBES');
  expect(facts).toHaveLength(total);
  expect(new Set(facts.map(({ fact }) => entityOf(fact))).size).toBe(total);
}
