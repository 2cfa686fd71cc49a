import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createBans } from '../../../../src/edges/node/peers/bans.ts';
import type { Peer } from '../../../../src/edges/node/peers/directory.ts';
import type { PeerHost } from '../../../../src/edges/node/peers/host.ts';
import { createNeighbours } from '../../../../src/edges/node/peers/neighbours.ts';
import { createDiagnostics } from '../../../../src/edges/node/status/diagnostics.ts';

const repairAfterMs = 100;

it(
  'a peer is gone once it was asked in vain, never because nobody asked it',
  { tags: ['S1.peers.repair'] },
  async () => {
    const peer: Peer = { account: 'other', ip: '127.0.0.1', port: 4445, isActive: true };
    let isUp = true;
    const ask = async () => await (isUp ? Promise.resolve({ done: true }) : Promise.reject(new Error('away')));
    const neighbours = createNeighbours({
      account: 'own',
      host: { ask } as unknown as PeerHost,
      directory: { nodes: async () => await Promise.resolve([peer]), known: () => undefined, isAddress: () => false },
      bans: createBans(),
      diagnostics: createDiagnostics(),
      repairAfterMs,
    });
    await neighbours.keepInTouch();
    // A pass that waits for this node's own disk for long asks nobody.
    await pause(3 * repairAfterMs);
    expect(neighbours.isGone(peer)).toBe(false);
    isUp = false;
    await neighbours.keepInTouch();
    expect(neighbours.isGone(peer), 'once may be by chance').toBe(false);
    for (let pass = 0; pass < 2; pass += 1) await neighbours.keepInTouch();
    expect(neighbours.isGone(peer)).toBe(true);
    isUp = true;
    await neighbours.keepInTouch();
    expect(neighbours.isGone(peer)).toBe(false);
  },
);
