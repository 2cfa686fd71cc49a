import type { Part } from './part.ts';
import { longRun } from './parts/long-run.ts';

/** Every part with how often it does its harm unless told otherwise, in the order in which they run. */
export const parts = {
  kills: {
    count: 60,
    load: () =>
      longRun('test/e2e/kills.test.ts', ({ count, seed }) => ({ KILLS: Math.ceil(count / 3), KILLS_SEED: seed })),
  },
  'store-kills': {
    count: 20,
    load: () =>
      longRun('test/e2e/store-kills.test.ts', ({ count, seed }) => ({ KILLS: Math.ceil(count / 2), KILLS_SEED: seed })),
  },
  'evm-kills': {
    count: 10,
    load: () => longRun('test/e2e/evm-kills.test.ts', ({ count, seed }) => ({ KILLS: count, KILLS_SEED: seed })),
  },
  'gateway-kills': {
    count: 5,
    load: () => longRun('test/e2e/gateway/gateway-kills.test.ts', ({ count }) => ({ KILLS: count })),
  },
  'broken-forms': {
    count: 5000,
    load: () =>
      longRun(
        'test/e2e/gateway/gateway.test.ts',
        ({ count, seed }) => ({ FORMS: count, FORMS_SEED: seed }),
        'that is broken',
      ),
  },
  'power-cuts': { count: 5, load: (): Promise<Part> => import('./parts/power-cuts.ts') },
  freezes: { count: 2, load: (): Promise<Part> => import('./parts/freezes.ts') },
  clock: { count: 7, load: (): Promise<Part> => import('./parts/clock.ts') },
  'full-disk': { count: 3, load: (): Promise<Part> => import('./parts/full-disk.ts') },
  'register-kills': { count: 20, load: (): Promise<Part> => import('./parts/register-kills.ts') },
  'chain-freezes': { count: 4, load: (): Promise<Part> => import('./parts/chain-freezes.ts') },
  'chain-full-disk': { count: 3, load: (): Promise<Part> => import('./parts/chain-full-disk.ts') },
  'chain-corruptions': { count: 8, load: (): Promise<Part> => import('./parts/chain-corruptions.ts') },
  'many-blocks': { count: 5000, load: (): Promise<Part> => import('./parts/many-blocks.ts') },
  'hostile-input': { count: 2000, load: (): Promise<Part> => import('./parts/hostile-input.ts') },
  corruptions: { count: 30, load: (): Promise<Part> => import('./parts/corruptions.ts') },
} as const;

export type PartName = keyof typeof parts;

/** The names of all parts. */
export const partNames = Object.keys(parts).filter((name): name is PartName => Object.hasOwn(parts, name));
