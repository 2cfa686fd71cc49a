/** What a part is given; `log` takes one line of progress at a time. */
export type PartOptions = Readonly<{
  /** How often the part does its harm. */
  count: number;
  /** Decides all that is left to chance. */
  seed: number;
  log: (line: string) => void;
}>;

/** How often everything was as it must be afterwards, and how often it was not. */
export type Tally = Readonly<{ passed: number; failed: number }>;

/** A part of the campaign: harms a running program and looks at what has become of it. */
export type Part = Readonly<{
  run: (options: PartOptions) => Promise<Tally>;
  /** Why it cannot run here; undefined where it can. */
  whyNot?: () => string | undefined;
}>;

/** Every part with how often it does its harm unless told otherwise, in the order in which they run. */
export const parts = {
  kills: { count: 60, load: (): Promise<Part> => import('./parts/kills.ts') },
  'power-cuts': { count: 5, load: (): Promise<Part> => import('./parts/power-cuts.ts') },
  freezes: { count: 2, load: (): Promise<Part> => import('./parts/freezes.ts') },
  clock: { count: 7, load: (): Promise<Part> => import('./parts/clock.ts') },
  'full-disk': { count: 3, load: (): Promise<Part> => import('./parts/full-disk.ts') },
  retention: { count: 1, load: (): Promise<Part> => import('./parts/retention.ts') },
  'register-kills': { count: 20, load: (): Promise<Part> => import('./parts/register-kills.ts') },
  'many-files': { count: 1, load: (): Promise<Part> => import('./parts/many-files.ts') },
  'evm-kills': { count: 10, load: (): Promise<Part> => import('./parts/evm-kills.ts') },
  'chain-freezes': { count: 4, load: (): Promise<Part> => import('./parts/chain-freezes.ts') },
  'chain-full-disk': { count: 3, load: (): Promise<Part> => import('./parts/chain-full-disk.ts') },
  'many-blocks': { count: 5000, load: (): Promise<Part> => import('./parts/many-blocks.ts') },
  'gateway-kills': { count: 5, load: (): Promise<Part> => import('./parts/gateway-kills.ts') },
  'broken-forms': { count: 5000, load: (): Promise<Part> => import('./parts/broken-forms.ts') },
  'hostile-input': { count: 2000, load: (): Promise<Part> => import('./parts/hostile-input.ts') },
  corruptions: { count: 30, load: (): Promise<Part> => import('./parts/corruptions.ts') },
} as const;

export type PartName = keyof typeof parts;

/** The names of all parts. */
export const partNames = Object.keys(parts).filter((name): name is PartName => Object.hasOwn(parts, name));
