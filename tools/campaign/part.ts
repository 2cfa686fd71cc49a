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
