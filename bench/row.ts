import { type MachineLoad, mostOfOthers } from './machine-load.ts';

/**
 * What was measured: medians over the rounds. `note` says in a word why a figure is missing, or where it comes from.
 */
export type Figures = Readonly<{ ours: number; peer: number | null; ratio: number | null; note?: string }>;

/** What has to be reached: `ours` in the row's unit, `ratio` as how many times better than the peer. */
export type Target = Readonly<{ ours?: number; ratio?: number }>;

/** A line of the bench: one figure of ours beside one of somebody else's. */
export type Row = Readonly<{
  /** Small words with dashes; the first ones are common to what is measured together. */
  name: string;
  unit: string;
  /** Which figures are good ones. */
  better: 'higher' | 'lower';
  peerName: string | null;
  target: Target;
  /** Whether it takes some twenty minutes, where others take one to three. */
  isLong?: boolean;
  measure: () => Promise<Figures>;
}>;

/** A row as it is reported. */
export type Reported = Readonly<{
  name: string;
  unit: string;
  ours: number | null;
  peerName: string | null;
  peer: number | null;
  ratio: number | null;
  target: string;
  /** Tasks that ran or waited for a core meanwhile, and those of other programs; null where that is unknown. */
  load: number | null;
  loadOfOthers: number | null;
  /** Null where nothing is asked for, or where it cannot be told. */
  met: boolean | null;
}>;

/** Judges what was measured by the row's target, on a machine quiet enough; without figures the row says why. */
export function reportOf(row: Row, measured: Figures | Error, load?: MachineLoad): Reported {
  const { name, unit, better, target } = row;
  const figures =
    measured instanceof Error ? { ours: null, peer: null, ratio: null, note: measured.message } : measured;
  const { ours, peer, ratio, note } = figures;
  const verdicts = [
    ...(target.ours === undefined ? [] : [ours !== null && reaches(ours, target.ours, better)]),
    ...(target.ratio === undefined ? [] : [ratio === null ? null : ratio >= target.ratio]),
  ];
  const isDisturbed = load !== undefined && load.others > mostOfOthers;
  const why = isDisturbed ? `not judged beside a load of ${load.others.toPrecision(2)} of others` : undefined;
  const named = [row.peerName, note, why].filter((part) => part !== null && part !== undefined);
  return {
    name,
    unit,
    ours: shown(ours),
    peerName: named.length > 0 ? named.join(': ') : null,
    peer: shown(peer),
    ratio: shown(ratio),
    target: targetText(row),
    load: shown(load?.all ?? null),
    loadOfOthers: shown(load?.others ?? null),
    met: isDisturbed ? null : met(verdicts),
  };
}

function targetText({ target, better, unit }: Row): string {
  const sign = better === 'higher' ? '≥' : '≤';
  return [
    ...(target.ours === undefined ? [] : [`${sign} ${target.ours} ${unit}`]),
    ...(target.ratio === undefined ? [] : [`≥ ${target.ratio}×`]),
  ].join(', ');
}

const reaches = (figure: number, target: number, better: Row['better']) =>
  better === 'higher' ? figure >= target : figure <= target;

function met(verdicts: readonly (boolean | null)[]): boolean | null {
  if (verdicts.includes(false)) return false;
  return verdicts.length === 0 || verdicts.includes(null) ? null : true;
}

/** Four digits are more than a noisy machine can tell. */
const shown = (figure: number | null) => (figure === null ? null : Number(figure.toPrecision(4)));
