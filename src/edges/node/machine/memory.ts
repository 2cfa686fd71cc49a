import os from 'node:os';

/** Memory in bytes. */
export type Memory = Readonly<{ total: number; available: number }>;

/** Memory of this machine; in a control group with a limit, the limit and what is left of it. */
export function readMemory(): Memory {
  const limit = process.constrainedMemory();
  const complete = os.totalmem();
  const total = limit > 0 && limit < complete ? limit : complete;
  return { total, available: Math.min(total, process.availableMemory()) };
}
