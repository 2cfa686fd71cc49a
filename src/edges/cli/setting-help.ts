import { settingRows } from '../config.ts';
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
