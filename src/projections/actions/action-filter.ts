import type { Input } from '../statement.ts';

/** Which actions to list; what is left out does not matter. */
export type ActionFilter = Readonly<{
  type?: string | undefined;
  creator?: string | undefined;
  state?: string | undefined;
  /** Actions that this account finalized, or that any account finalized which was this operator's at the time. */
  supernode?: { readonly account: string } | { readonly operator: string } | undefined;
  /** Height of the register transaction, both ends included. */
  fromHeight?: number | undefined;
  toHeight?: number | undefined;
  /** The hash of the stored data: any of these texts, which are the ways in which a chain may write it. */
  dataHash?: readonly string[] | undefined;
}>;

/**
 * The conditions of a filter without their values: statements of one shape have one text, with a slot for each value.
 */
export type FilterShape = Readonly<{ [Name in keyof ActionFilter]?: boolean }>;

/** The shape of a filter, and the values of its slots. */
export function shapeOf(filter: ActionFilter): { shape: FilterShape; given: Input } {
  const input = Object.entries(filter).filter(([, value]) => value !== undefined);
  return { shape: Object.fromEntries(input.map(([name]) => [name, true])), given: Object.fromEntries(input) };
}

/** Returns whether a filter names both a creator and accounts, a pair for which there is no counter. */
export const isPair = ({ creator, supernode }: { readonly creator?: unknown; readonly supernode?: unknown }): boolean =>
  creator !== undefined && supernode !== undefined;
