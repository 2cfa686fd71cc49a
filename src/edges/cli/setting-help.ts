import { settingRows } from '../config.ts';
import { roleNames, roleTable } from '../roles/names.ts';
import { table } from './output.ts';

/** All settings as `--help` shows them. */
export function settingHelp(): string {
  return table(
    ['Variable', 'Default', 'Meaning'],
    settingRows().map(({ variable, default: fallback, meaning }) => [
      variable,
      fallback === '' ? '(unset)' : fallback,
      meaning,
    ]),
  );
}

/** All roles as `--help` shows them. */
export function roleHelp(): string {
  return table(
    ['Role', 'What it runs'],
    roleNames.map((name) => [name, roleTable[name].does]),
  );
}
