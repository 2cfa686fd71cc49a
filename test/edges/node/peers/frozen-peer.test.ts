import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { castOf, type Person } from '../../../../src/edges/local-network/cast.ts';
import { type HostOptions, openPeerHost, type PeerHost } from '../../../../src/edges/node/peers/host.ts';
import { createDiagnostics } from '../../../../src/edges/node/status/diagnostics.ts';
import { heldLink } from '../../../support/programs/held-link.ts';
import { standStill } from '../../../support/stand-still.ts';
import { until } from '../../../support/polling.ts';
import { seed, silent } from '../../ledger/ledger-under-test.ts';

const [one, two] = castOf(seed).creators as unknown as readonly [Person, Person];

async function hostOf({ key }: Pick<HostOptions, 'key'>, options: Partial<HostOptions> = {}): Promise<PeerHost> {
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const diagnostics = createDiagnostics();
  return await openPeerHost({
    place,
    key,
    logger: silent,
    answering: async () => ({ done: true }),
    diagnostics,
    ...options,
  });
}

it(
  'a peer that says nothing more is no longer connected, though its connection stays open',
  {
    tags: ['S1.network.peers'],
  },
  async () => {
    await using undo = new AsyncDisposableStack();
    const asking = await hostOf(one, { heartbeat: { everyMs: 3_000, withinMs: 2_500 } });
    undo.defer(asking.close);
    const asked = await hostOf(two);
    undo.defer(asked.close);
    const link = await heldLink({ host: '127.0.0.1', port: asked.port });
    undo.defer(link.close);
    const peer = { account: two.account, ip: '127.0.0.1', port: link.port, isActive: true };
    await asking.ask(peer, { case: 'missing', value: { names: [] } });
    expect(asking.connected()).toEqual([{ account: two.account, ip: '127.0.0.1', port: link.port }]);
    await link.holdFrom('');
    await until('the peer counts as gone', async () => asking.connected().length === 0);
  },
);

it('no peer is blamed for a time in which the process stood still', { tags: ['S1.network.peers'] }, async () => {
  await using undo = new AsyncDisposableStack();
  const answerMs = 1_000;
  const asking = await hostOf(one, { answerMs });
  undo.defer(asking.close);
  const answering = async () => {
    await pause(answerMs / 2);
    // In the phase after which a loop runs its timers before it reads.
    await new Promise(setImmediate);
    standStill(2 * answerMs);
    return { done: true };
  };
  const asked = await hostOf(two, { answering, answerMs });
  undo.defer(asked.close);
  const peer = { account: two.account, ip: '127.0.0.1', port: asked.port, isActive: true };
  expect(await asking.ask(peer, { case: 'missing', value: { names: [] } })).toMatchObject({ done: true });
});

it('a peer that never answers is waited for no longer than that', { tags: ['S1.network.peers'] }, async () => {
  await using undo = new AsyncDisposableStack();
  const asking = await hostOf(one, { answerMs: 1_000 });
  undo.defer(asking.close);
  const asked = await hostOf(two, { answering: async () => await new Promise(() => undefined) });
  undo.defer(asked.close);
  const peer = { account: two.account, ip: '127.0.0.1', port: asked.port, isActive: true };
  await expect(asking.ask(peer, { case: 'missing', value: { names: [] } })).rejects.toThrow('does not answer');
});
