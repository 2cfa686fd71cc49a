import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { probeNode } from '../../../../src/edges/indexer/probe/probe.ts';
import neverDialled from '../../../fixtures/node-addresses/never-dialled.json' with { type: 'json' };

/** Told by Node itself of every TCP connection that is begun. */
let sockets = 0;
const count = (): void => void (sockets += 1);
beforeAll(() => subscribe('net.client.socket', count));
afterAll(() => unsubscribe('net.client.socket', count));
beforeEach(() => void (sockets = 0));

const limits = { connectMs: 500, statusMs: 500, servicesMs: 500, maxBytes: 1_000 };
const probe = async (address: string, allowPrivate = false): Promise<readonly string[]> => {
  const { signal } = new AbortController();
  const options = { allowPrivate, allowHostNames: false, isServicesDue: true, limits, signal };
  return (await probeNode(address, options)).ports.map(({ outcome }) => outcome);
};
const nothing = ['not_dialled', 'not_dialled', 'not_dialled'];

const groups = Object.entries(neverDialled);
const vectors = groups.flatMap(([, addresses]) => addresses);

describe('probeNode with its own sockets', () => {
  it.each(groups)('opens none for addresses of the kind: %s', { tags: ['LS-23'] }, async (_kind, addresses) => {
    for (const address of addresses) expect(await probe(address), JSON.stringify(address)).toEqual(nothing);
    expect(sockets).toBe(0);
  });

  it('was given more than 120 different addresses', () => {
    expect(new Set(vectors).size).toBe(vectors.length);
    expect(vectors.length).toBeGreaterThanOrEqual(120);
  });

  it('opens three for a loopback address once private ones are allowed, of which Node tells', async () => {
    expect(await probe('127.31.62.93', true)).not.toContain('not_dialled');
    expect(sockets).toBe(3);
  });

  it('opens none, even then, for what is neither loopback nor private, nor for what is no plain address', async () => {
    const isPrivate = /^\[?(?:127\.\d+\.\d+\.\d+|10\.|172\.|192\.168\.|::1|0{1,4}:0{1,4}:.*1|f[cd])/;
    const others = vectors.filter((address) => !isPrivate.test(address));
    for (const address of others) expect(await probe(address, true), JSON.stringify(address)).toEqual(nothing);
    expect(sockets).toBe(0);
    expect(others.length).toBeGreaterThan(120);
  });
});
