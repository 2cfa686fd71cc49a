const longestBytes = 255;

/** Name of a file that comes without one. */
export const unnamed = 'upload.bin';

/** The base name of a client's file name, without control and direction characters, 255 bytes at most. */
export function baseName(input = ''): string {
  const base = (input.split(/[/\\]/).at(-1) ?? '').replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').trim();
  let stored = '';
  for (const character of base) {
    if (Buffer.byteLength(stored + character) > longestBytes) break;
    stored += character;
  }
  return stored === '' || stored === '.' || stored === '..' ? unnamed : stored;
}
