const longestBytes = 255;

/** Name of a file that comes without one. */
export const unnamed = 'upload.bin';

/** The base name of a client's file name, without control and direction characters, 255 bytes at most. */
export function baseName(given = ''): string {
  const base = (given.split(/[/\\]/).at(-1) ?? '').replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').trim();
  let kept = '';
  for (const character of base) {
    if (Buffer.byteLength(kept + character) > longestBytes) break;
    kept += character;
  }
  return kept === '' || kept === '.' || kept === '..' ? unnamed : kept;
}
