import Table from 'cli-table3';

/** Prints one answer: as JSON on one line, or in the form for people. */
export function print(value: unknown, { json, human }: { json: boolean; human: () => string }): void {
  process.stdout.write(`${json ? JSON.stringify(value) : human()}\n`);
}

/** A plain table without frames, for people and for `grep`. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
): string {
  const none = {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  };
  const grid = new Table({
    head: [...head],
    chars: none,
    style: { 'padding-left': 0, 'padding-right': 0, head: process.stdout.isTTY ? ['bold'] : [], border: [] },
  });
  for (const row of rows) grid.push(head.map((_, column) => String(column < row.length ? (row[column] ?? '–') : '')));
  return grid
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
