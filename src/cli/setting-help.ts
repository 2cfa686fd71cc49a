import { settingRows } from '../config.ts';
import { roleNames, roleTable } from '../role-names.ts';
import { table } from './output.ts';

/** All settings as `--help` shows them, a table for what reads them. */
export function settingHelp(): string {
  const groups = Map.groupBy(settingRows(), ({ group }) => group);
  return [...groups].map(([group, rows]) => `${group}:\n${tableOf(rows)}`).join('\n\n');
}

function tableOf(rows: ReturnType<typeof settingRows>): string {
  return table(
    ['Variable', 'Default', 'Meaning'],
    rows.map(({ variable, default: fallback, meaning }) => [variable, fallback === '' ? '(unset)' : fallback, meaning]),
  );
}

/** All roles as `--help` shows them. */
export function roleHelp(): string {
  return table(
    ['Role', 'What it runs'],
    roleNames.map((name) => [name, roleTable[name].does]),
  );
}
