/** Whose actions a counter counts; everybody's without either. */
export type CounterScope = Readonly<{ creator?: string; account?: string }>;

/** Which actions of a scope a counter counts; any type or status where it is left out. */
export type CounterCell = Readonly<{ type?: string; status?: string }>;

/**
 * The name of the counter of a scope and cell.
 *
 * @example counterName({ creator: 'lumera1c' }, { type: 'sense' }) // creator:lumera1c,type:sense
 */
export function counterName({ creator, account }: CounterScope, { type, status }: CounterCell): string {
  const parts = Object.entries({ creator, account, type, status }).filter(([, value]) => value !== undefined);
  return parts.map(([name, value]) => `${name}:${value}`).join(',') || 'all';
}

/** The counters of a scope that an action adds one to: all, its type, its status, both. */
export function counterNames({ type, status }: Required<CounterCell>, scope: CounterScope = {}): string[] {
  return [{}, { type }, { status }, { type, status }].map((cell) => counterName(scope, cell));
}
