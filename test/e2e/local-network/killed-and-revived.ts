import { expect } from 'vitest';
import { childOf } from '../../support/programs/child-of.ts';
import { until } from '../../support/polling.ts';

type Shown = Readonly<{ id: string; status: string; failed_probe_counter: number }>;

/**
 * Kills the nodes of the local network as often as they come back, until the API shows them unavailable; then lets them
 * come back, until it shows them available again and counts no failure.
 */
export async function expectKilledAndRevived(
  programPid: number,
  read: (path: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<void> {
  const shown = async (query: string): Promise<readonly Shown[]> =>
    (await read(`/v1/supernodes/metrics?limit=100${query}`))['supernodes'] as readonly Shown[];
  const ids = await until('three are available', async () => {
    const available = await shown('&status=available');
    return available.length === 3 && available.map(({ id }) => id);
  });
  const ours = async () => (await shown('')).filter(({ id }) => ids.includes(id));
  const failures = await until('the API shows them unavailable', async () => {
    const pid = await childOf(programPid, 'nodes/process.ts');
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    const now = await ours();
    return now.every(({ status }) => status === 'unavailable') && now.map((one) => one.failed_probe_counter);
  });
  expect(Math.min(...failures)).toBeGreaterThan(0);
  const counted = await until('the API shows them available again', async () => {
    const now = await ours();
    return now.every(({ status }) => status === 'available') && now.map((one) => one.failed_probe_counter);
  });
  expect(counted).toEqual([0, 0, 0]);
}
