import type { Figures, Row } from './row.ts';

/** Named beside figures that were taken once, of a program that cannot be installed from here. */
export const lumeScope = 'LumeScope ca5481f';

/** Sets a figure of ours beside one that was measured earlier, on a machine of the same kind. */
export function besideEarlier(ours: number, peer: number, better: Row['better']): Figures {
  const ratio = better === 'higher' ? ours / peer : peer / ours;
  return { ours, peer, ratio: Number.isFinite(ratio) ? ratio : null, note: 'measured earlier, not of this run' };
}
