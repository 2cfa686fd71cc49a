import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Where the kernel shows a process its control groups; tests use other folders. */
export type KernelFiles = Readonly<{ proc: string; cgroup: string }>;

/** The share of the processors that a control group leaves a process. */
export type ProcessorLimit = Readonly<{
  /** Processors' worth of time, such as 1.5. */
  cores: number;
  /** Microseconds of processor time that the group has used so far. */
  usedMicros: number;
}>;

const kernel: KernelFiles = { proc: '/proc', cgroup: '/sys/fs/cgroup' };

/**
 * The tightest processor limit of the groups that this process is in, of version 2 or 1; undefined where there is none.
 *
 * Limits of groups above count too: the kernel holds to all of them.
 */
export async function processorLimit(files: KernelFiles = kernel): Promise<ProcessorLimit | undefined> {
  const lines = (await textOf(path.join(files.proc, 'self/cgroup'))).split('\n');
  const limits = await Promise.all(lines.flatMap((line) => groupsOf(line, files.cgroup)).map((read) => read()));
  return limits.filter((limit) => limit !== undefined).toSorted((a, b) => a.cores - b.cores)[0];
}

type ReadLimit = () => Promise<ProcessorLimit | undefined>;

/** A line of /proc/self/cgroup: number, controllers, path. Version 2 has no controllers in it. */
function groupsOf(line: string, root: string): ReadLimit[] {
  const [, controllers = '', group] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (group === undefined) return [];
  if (controllers === '')
    return [root, path.join(root, 'unified')].flatMap((base) =>
      upwards(base, group).map((folder) => () => limitOfVersion2(folder)),
    );
  if (!controllers.split(',').includes('cpu')) return [];
  return upwards(path.join(root, 'cpu'), group).map(
    (folder) => () => limitOfVersion1(folder, folder.replace(path.join(root, 'cpu'), path.join(root, 'cpuacct'))),
  );
}

/** The folder of a group and of every group above it; inside a container only the uppermost may be there. */
function upwards(base: string, group: string): string[] {
  const parts = group.split('/').filter(Boolean);
  return Array.from({ length: parts.length + 1 }, (_, count) => path.join(base, ...parts.slice(0, count)));
}

async function limitOfVersion2(folder: string): Promise<ProcessorLimit | undefined> {
  const [, quota, period] = /^(\d+) (\d+)$/m.exec(await textOf(path.join(folder, 'cpu.max'))) ?? [];
  const [, used] = /^usage_usec (\d+)$/m.exec(await textOf(path.join(folder, 'cpu.stat'))) ?? [];
  return limitOf(Number(quota), Number(period), Number(used));
}

async function limitOfVersion1(folder: string, accounting: string): Promise<ProcessorLimit | undefined> {
  const quota = Number(await textOf(path.join(folder, 'cpu.cfs_quota_us')));
  const period = Number(await textOf(path.join(folder, 'cpu.cfs_period_us')));
  const usedNanos = await textOf(path.join(accounting, 'cpuacct.usage'));
  return limitOf(quota, period, usedNanos === '' ? Number.NaN : Number(usedNanos) / 1000);
}

function limitOf(quota: number, period: number, usedMicros: number): ProcessorLimit | undefined {
  return quota > 0 && period > 0 && Number.isFinite(usedMicros) ? { cores: quota / period, usedMicros } : undefined;
}

/** An absent file reads as empty: the system has no such groups. */
async function textOf(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(() => '');
}
