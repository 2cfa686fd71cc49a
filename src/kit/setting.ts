/**
 * One setting: its environment variable, what it means, its default as an operator would write it, and how its text is
 * read.
 */
export type Setting<T> = Readonly<{
  env: string;
  default: string;
  meaning: string;
  parse: (text: string) => T;
  secret?: boolean;
}>;

/** A row of a table of settings; `parse` fails with `Unfit` that names what the setting accepts. */
export function setting<T>(
  env: string,
  fallback: string,
  parse: (text: string) => T,
  meaning: string,
  secret = false,
): Setting<T> {
  return { env, default: fallback, meaning, parse, secret };
}

/** The values of a table of settings, by name. */
export type Parsed<Table extends Readonly<Record<string, Setting<unknown>>>> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer Value> ? Value : never;
};
