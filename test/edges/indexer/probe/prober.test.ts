import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Dial } from '../../../../src/edges/indexer/probe/dial.ts';
import { createProber } from '../../../../src/edges/indexer/probe/prober.ts';

const sweep = (node: string, isFresh: boolean) => ({
  nodes: new Map([[node, '127.0.0.1:4444']]),
  reason: {},
  spreadMs: 0,
  isFresh,
});

it('createProber gives a node that is listed while its host is probed, or about to be, the outcome of that probe', async () => {
  const recorded: string[] = [];
  const causes: (string | undefined)[] = [];
  const opened = Promise.withResolvers<void>();
  const dialled = Promise.withResolvers<void>();
  let dials = 0;
  const dial: Dial = async () => {
    dials += 1;
    dialled.resolve();
    await opened.promise;
    return { outcome: 'refused' };
  };
  const probe = createProber({
    allowPrivate: true,
    allowHostNames: false,
    recorder: { add: ({ node }, { causation }) => causes.push(causation) && recorded.push(node) },
    logger: pino({ level: 'silent' }),
    signal: new AbortController().signal,
    servicesAskedAt: new Map(),
    dial,
  });
  const sweeps = [probe(sweep('first', false))];
  await dialled.promise;
  sweeps.push(probe(sweep('while it is probed', false)));
  sweeps.push(probe(sweep('first', true)), probe(sweep('before it is probed again', true)));
  sweeps.push(probe({ ...sweep('first', true), reason: { causation: 'a request' } }));
  opened.resolve();
  await Promise.all(sweeps);
  expect(recorded).toEqual(['first', 'while it is probed', 'first', 'before it is probed again']);
  expect(dials, 'three ports, twice').toBe(6);
  expect(causes, 'what answers a request names it').toEqual([undefined, undefined, 'a request', undefined]);
});
