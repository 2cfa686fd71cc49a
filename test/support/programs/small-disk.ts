import { execFileSync } from 'node:child_process';
import { freshFolder } from './fresh-folder.ts';

/** A folder on a file system of its own of so many bytes; undefined where none can be mounted. */
export function smallDisk(bytes: number): ReturnType<typeof freshFolder> | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const { folder, remove } = freshFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    // A container's root may lack the right to mount.
    remove();
    return undefined;
  }
  return {
    folder,
    remove: () => {
      execFileSync('umount', ['--lazy', folder]);
      remove();
    },
  };
}
