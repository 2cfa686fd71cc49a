import Table from 'cli-table3';
import type { Reported } from './row.ts';

/** The table for people. */
export function tableOf(rows: readonly Reported[]): string {
  const table = new Table({
    head: ['', 'ours', 'peer', 'ratio', 'target', 'met', 'load', 'beside'],
    colAligns: ['left', 'right', 'right', 'right', 'left', 'left', 'right', 'left'],
    colWidths: [null, null, null, null, null, null, null, 48],
    wordWrap: true,
    style: { head: [], border: [], compact: true },
  });
  for (const { name, unit, ours, peer, ratio, target, met, load, loadOfOthers, peerName } of rows) {
    table.push([
      name,
      `${figure(ours)} ${unit}`,
      figure(peer),
      ratio === null ? '–' : `${ratio}×`,
      target,
      met === null ? '–' : met ? 'yes' : 'NO',
      load === null ? '–' : `${tasks(load)}, others ${tasks(loadOfOthers ?? 0)}`,
      peerName ?? '',
    ]);
  }
  return table.toString();
}

/** The document for programs, one line. */
export function documentOf(rows: readonly Reported[]): string {
  return JSON.stringify({ rows });
}

const figure = (value: number | null) => value?.toLocaleString('en-US', { maximumSignificantDigits: 4 }) ?? '–';

const tasks = (load: number) => load.toFixed(1);
