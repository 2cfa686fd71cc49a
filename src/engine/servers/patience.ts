import { readFileSync } from 'node:fs';

/** How long a server that starts may do nothing, unless the caller knows better. */
const idleForMs = 60_000;

/** Returns whether a server that starts is worth waiting for; `isAlive` where the caller has seen that it works. */
export type Patience = (isAlive?: boolean) => boolean;

/**
 * Waits for a server as long as it works, however long that takes, and gives up one that did nothing for `idleMs`
 * milliseconds: neither was it seen alive nor has its process used the processor.
 *
 * What a crash left takes as long to recover as the disk needs. A server that is ended in the middle of it begins anew
 * at its next start, so that a bound on the whole would keep it from ever coming up.
 */
export function createPatience(pid: number, idleMs = idleForMs): Patience {
  let used = ticksOf(pid);
  let workedAt = performance.now();
  return (isAlive = false) => {
    const now = ticksOf(pid);
    if (isAlive || now !== used) workedAt = performance.now();
    used = now;
    return performance.now() - workedAt <= idleMs;
  };
}

/** Processor time of a process in ticks of the kernel (proc_pid_stat(5), utime and stime); 0 where nobody says it. */
function ticksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}
