import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A new empty folder, and its end. */
export function freshFolder(): { folder: string; remove: () => void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-folder-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
