/** Whose actions a counter counts; everybody's without either. */
export type CounterScope = Readonly<{ creator?: string; account?: string }>;

/** Which actions of a scope a counter counts; any type or status where it is left out. */
export type CounterCell = Readonly<{ type?: string; status?: string }>;

/**
 * The name of the counter of a scope and cell.
 *
 * @example counterName({ creator: 'lumera1c' }, { type: 'sense' }) // creator:lumera1c,type:sense
 */
export function counterName(scope: CounterScope, { type, status }: CounterCell): string {
  return withCell(scopeName(scope), type, status) || 'all';
}

/** The counters of a scope that an action adds one to: all, its type, its status, both. */
export function counterNames({ type, status }: Required<CounterCell>, scope: CounterScope = {}): string[] {
  const own = scopeName(scope);
  return [own || 'all', withCell(own, type), withCell(own, undefined, status), withCell(own, type, status)];
}

function scopeName({ creator, account }: CounterScope): string {
  if (creator === undefined) return account === undefined ? '' : `account:${account}`;
  return account === undefined ? `creator:${creator}` : `creator:${creator},account:${account}`;
}

function withCell(scope: string, type?: string, status?: string): string {
  const typed = type === undefined ? scope : `${scope === '' ? '' : `${scope},`}type:${type}`;
  return status === undefined ? typed : `${typed === '' ? '' : `${typed},`}status:${status}`;
}
