import { describe, expect, it } from 'vitest';
import { createGatewayHedges, createHedges, type Hedges } from '../../../../src/edges/gateway/nodes/hedges.ts';

describe('createHedges', () => {
  const recorded = (some: readonly Readonly<{ silenceMs: number; tookMs: number; bytes?: number }>[]): Hedges => {
    const hedges = createHedges();
    for (const { silenceMs, tookMs, bytes: size = 1_000 } of some)
      hedges.record({ bytes: size, tookMs, silences: new Map([['processing', silenceMs]]) });
    return hedges;
  };

  it('calls nothing slow before it knows three attempts, but by a usual silence', () => {
    const two = recorded([1, 2].map((silenceMs) => ({ silenceMs, tookMs: 1 })));
    expect(two.patienceMs('processing', 1_000)).toBeUndefined();
    expect(createHedges({ usualMs: { sending: 7 } }).patienceMs('sending', 1_000)).toBe(7);
  });

  it('calls twice the p90 of silences slow, at least a quarter of what an attempt takes, and more for larger files', () => {
    const hedges = recorded(Array.from({ length: 10 }, (_, index) => ({ silenceMs: (index + 1) * 10, tookMs: 200 })));
    expect(hedges.patienceMs('processing', 1_000)).toBe(180);
    expect(hedges.patienceMs('processing', 500)).toBe(180);
    expect(hedges.patienceMs('processing', 10_000)).toBe(1_800);
    expect(hedges.patienceMs('dialling', 1_000)).toBe(50);
    expect(hedges.patienceMs('dialling', 4_000)).toBe(200);
  });

  it('calls an upload slow without experience only before its node has all of the file', () => {
    const { uploads } = createGatewayHedges();
    expect(['dialling', 'sending'].map((phase) => uploads.patienceMs(phase as 'dialling', 1))).toEqual([2_000, 5_000]);
    expect([uploads.patienceMs('processing', 1), uploads.atOnce]).toEqual([undefined, 3]);
  });

  it('follows the latest fifty, so that a slow network is soon the usual one', () => {
    const hedges = recorded([
      ...Array.from({ length: 50 }, () => ({ silenceMs: 10, tookMs: 10 })),
      ...Array.from({ length: 50 }, () => ({ silenceMs: 500, tookMs: 600 })),
    ]);
    expect(hedges.patienceMs('processing', 1_000)).toBe(1_000);
  });

  it('has eight at once at most, and each once given back', () => {
    const hedges = createHedges();
    const frees = Array.from({ length: 8 }, () => hedges.reserve());
    expect(hedges.reserve()).toBeUndefined();
    frees[0]?.();
    frees[0]?.();
    expect(hedges.reserve()).toBeDefined();
    expect(hedges.reserve()).toBeUndefined();
  });
});
