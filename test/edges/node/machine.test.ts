import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { processorLimit } from '../../../src/edges/node/machine/control-group.ts';
import { readMemory } from '../../../src/edges/node/machine/memory.ts';
import { processorBetween, type ProcessorReading, readProcessors } from '../../../src/edges/node/machine/processor.ts';
import { readVolume } from '../../../src/edges/node/machine/volume.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Folders as the kernel shows them, with these files in them. */
function kernelWith(files: Record<string, string>): { proc: string; cgroup: string } {
  const root = mkdtempSync(path.join(os.tmpdir(), 'annals-kernel-'));
  folders.push(root);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), content);
  }
  return { proc: path.join(root, 'proc'), cgroup: path.join(root, 'cgroup') };
}

describe('processorLimit', () => {
  it('is the tightest of a group of version 2 and those above it', { tags: ['S1.resources.groups'] }, async () => {
    const files = kernelWith({
      'proc/self/cgroup': '0::/a/b\n',
      'cgroup/a/cpu.max': '150000 100000\n',
      'cgroup/a/cpu.stat': 'usage_usec 7000\nuser_usec 1\n',
      'cgroup/a/b/cpu.max': 'max 100000\n',
      'cgroup/a/b/cpu.stat': 'usage_usec 10\n',
    });
    expect(await processorLimit(files)).toEqual({ cores: 1.5, usedMicros: 7000 });
  });

  it('is that of a container that shows its group as the uppermost', async () => {
    const files = kernelWith({
      'proc/self/cgroup': '0::/system.slice/somewhere-else\n',
      'cgroup/cpu.max': '50000 100000\n',
      'cgroup/cpu.stat': 'usage_usec 5\n',
    });
    expect(await processorLimit(files)).toEqual({ cores: 0.5, usedMicros: 5 });
  });

  it('is that of a group of version 1', { tags: ['S1.resources.groups'] }, async () => {
    const files = kernelWith({
      'proc/self/cgroup': '2:cpu,cpuacct:/x\n1:memory:/y\n',
      'cgroup/cpu/x/cpu.cfs_quota_us': '200000\n',
      'cgroup/cpu/x/cpu.cfs_period_us': '100000\n',
      'cgroup/cpuacct/x/cpuacct.usage': '3000000\n',
    });
    expect(await processorLimit(files)).toEqual({ cores: 2, usedMicros: 3000 });
  });

  it('is none without a quota, or where there are no groups', async () => {
    expect(await processorLimit(kernelWith({ 'proc/self/cgroup': '0::/\n', 'cgroup/cpu.max': 'max 100000\n' }))).toBe(
      undefined,
    );
    expect(await processorLimit(kernelWith({}))).toBe(undefined);
  });
});

describe('processorBetween', () => {
  const reading = (values: Partial<ProcessorReading>): ProcessorReading => ({
    atMs: 0,
    idleMs: 0,
    allMs: 0,
    cores: 4,
    ...values,
  });

  it('is the share of all cores that was not idle', { tags: ['S1.resources.cpu'] }, () => {
    const after = reading({ atMs: 1000, idleMs: 3000, allMs: 4000 });
    expect(processorBetween(reading({}), after)).toEqual({ usagePercent: 25, cores: 4 });
  });

  it(
    'is the share of the limit that its group used, and the limit rounded up in cores',
    { tags: ['S1.resources.cpu'] },
    () => {
      const before = reading({ limit: { cores: 1.5, usedMicros: 0 } });
      const after = reading({ atMs: 1000, idleMs: 0, allMs: 4000, limit: { cores: 1.5, usedMicros: 750_000 } });
      expect(processorBetween(before, after)).toEqual({ usagePercent: 50, cores: 2 });
    },
  );

  it('lies between 0 and 100 whatever the clocks say', { tags: ['S1.resources.cpu'] }, () => {
    const early = reading({ atMs: 1000, idleMs: 10, allMs: 5 });
    for (const [before, after] of [
      [reading({}), early],
      [early, reading({})],
      [early, early],
    ] as const) {
      const { usagePercent } = processorBetween(before, after);
      expect(usagePercent).toBeGreaterThanOrEqual(0);
      expect(usagePercent).toBeLessThanOrEqual(100);
    }
  });

  it('has the cores that affinity leaves on this machine', { tags: ['S1.resources.cpu'] }, async () => {
    const { cores } = await readProcessors();
    expect(cores).toBeGreaterThan(0);
    expect(cores).toBeLessThanOrEqual(os.cpus().length);
  });
});

describe('readVolume', () => {
  it('is the filesystem of the folder, at its mount point', { tags: ['S1.resources.storage'] }, async () => {
    const volume = await readVolume(os.tmpdir());
    const { blocks, bsize } = await statfs(os.tmpdir());
    expect(Number(volume.total)).toBe(blocks * bsize);
    expect(volume.used + volume.available <= volume.total).toBe(true);
    expect(os.tmpdir().startsWith(volume.mount)).toBe(true);
  });
});

describe('readMemory', () => {
  it('is no more than the machine has, and available no more than that', { tags: ['S1.resources.memory'] }, () => {
    const { total, available } = readMemory();
    expect(total).toBeLessThanOrEqual(os.totalmem());
    expect(available).toBeGreaterThan(0);
    expect(available).toBeLessThanOrEqual(total);
  });
});
