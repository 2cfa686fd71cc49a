import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { until } from '../../test/support/polling.ts';

/** A file system of its own in an image file, mounted at `folder`. */
export type Disk = Readonly<{
  folder: string;
  /** Copies what the device holds at this moment: what programs wrote and did not have flushed is not in the copy. */
  image: () => Promise<string>;
  /** Takes the disk away and puts an image in its place, as a machine finds it after a power cut. */
  become: (image: string) => Promise<void>;
  remove: () => Promise<void>;
}>;

const sizeMb = 1024;
const freeWithinMs = 30_000;
const run = promisify(execFile);

/** Why no file system can be mounted here; undefined where one can. */
export function whyNoMounts(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux mounts files';
  return process.getuid?.() === 0 ? undefined : 'only root may mount a file system';
}

/** Makes an ext4 file system in an image file and mounts it. */
export async function createDisk(parent: string): Promise<Disk> {
  const folder = path.join(parent, 'disk');
  let current = path.join(parent, 'disk-0.img');
  let copies = 0;
  mkdirSync(folder);
  await run('truncate', ['-s', `${sizeMb}M`, current]);
  await run('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=1,lazy_journal_init=1', current]);
  await mountImage(current, folder);
  return {
    folder,
    image: async () => {
      const copy = path.join(parent, `disk-${++copies}.img`);
      // What the kernel writes by itself in the middle of a copy would make it a state that never was.
      for (;;) {
        const before = statSync(current).mtimeMs;
        await run('cp', ['--sparse=always', current, copy]);
        if (statSync(current).mtimeMs === before) return copy;
        await pause(50);
      }
    },
    become: async (image) => {
      await unmount(folder);
      rmSync(current);
      current = image;
      await mountImage(current, folder);
    },
    remove: async () => {
      await unmount(folder);
      rmSync(current, { force: true });
    },
  };
}

async function mountImage(image: string, folder: string): Promise<void> {
  await run('mount', ['-o', 'loop,commit=60', image, folder]);
  await run('chmod', ['711', folder]);
}

/** Mounts a file system in memory that holds so much and no more. */
export async function mountMemory(folder: string, mb: number): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${mb}M,mode=0711`, 'tmpfs', folder]);
}

/** Unmounts as soon as the last process has let go. */
export async function unmount(folder: string): Promise<void> {
  await until(`${folder} can be unmounted`, async () => await run('umount', [folder]).then(() => true), freeWithinMs);
}

/** Takes all room that there is; that it fails in the end is what it is for. */
export async function fill(file: string): Promise<void> {
  await run('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k']).catch(() => undefined);
}
