import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Room for what is put behind the path; systems allow 104 (macOS) to 108 bytes (Linux) for a Unix socket. */
const LONGEST_BYTES = 80;

/**
 * The path itself when a Unix socket may lie there, else a short one derived from it in a private folder of this user.
 *
 * The same path always gives the same place.
 */
export function socketPath(wanted: string): string {
  if (Buffer.byteLength(wanted) <= LONGEST_BYTES) return wanted;
  return path.join(privateFolder(), createHash('sha256').update(wanted).digest('hex').slice(0, 16));
}

/** A folder that only this user can have made and can enter; anyone may put things into the system's temp folder. */
function privateFolder(): string {
  const uid = process.getuid?.() ?? 0;
  const shortest = Buffer.byteLength(tmpdir()) > 55 ? '/tmp' : tmpdir();
  const folder = path.join(shortest, `annals-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
    throw new Error(`Cannot use ${folder} for sockets: it belongs to someone else; set DATA_DIR to a shorter path`);
  }
  return folder;
}
