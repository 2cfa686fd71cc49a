import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A new folder for `DATA_DIR`, which PostgreSQL may enter whoever runs it. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-campaign-'));
  chmodSync(folder, 0o711);
  return folder;
}
