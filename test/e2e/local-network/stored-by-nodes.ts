import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { bytesOf, downloaded, upload } from '../../edges/node/files-under-test.ts';
import { until } from '../../support/polling.ts';
import { jsonLines, runVerb } from '../../support/programs/verb.ts';

/**
 * Registers a file, uploads it through the first node of the local network, downloads it through the second; `read`
 * asks the API, which must show it finalized.
 */
export async function expectStoredByNodes(
  subnet: string,
  dataDir: string,
  read: (path: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<void> {
  const bytes = bytesOf('e', 1_500_000);
  const file = `${dataDir}/to store.bin`;
  writeFileSync(file, bytes);
  const [made] = jsonLines(await runVerb(dataDir, 'register', file, '--public', '--json'));
  const actionId = String(made?.['action_id']);
  const events = await upload(`${subnet}.1:4444`, actionId, bytes);
  expect(events.at(-1)).toMatchObject({ eventType: 12, txHash: expect.stringMatching(/^[0-9A-F]{64}$/) });
  expect((await downloaded(`${subnet}.2:4444`, actionId)).bytes.equals(bytes)).toBe(true);
  await until('the API shows it finalized', async () => {
    return (await read(`/v1/actions/${actionId}`))['status'] === 'finalized';
  });
  await until('every node tells of the file', async () => {
    const files = await Promise.all(
      [1, 2, 3].map(async (last) => {
        const answer = await fetch(`http://${subnet}.${last}:8002/api/v1/files`);
        return ((await answer.json()) as { files: { action_id: string; state: string }[] }).files;
      }),
    );
    return files.every((of) => of.some(({ action_id, state }) => action_id === actionId && state === 'stored'));
  });
  // A ping that comes late on a busy machine leaves its peer out until the next one.
  const nodes = await until('every node has both others as peers', async () => {
    const [told] = jsonLines(await runVerb(dataDir, 'nodes', '--json'));
    const all = told?.['nodes'] as readonly Readonly<Record<string, unknown>>[];
    return all.every(({ peers }) => (peers as unknown[]).length === 2) && all;
  });
  expect(nodes.map(({ address }) => address)).toEqual([1, 2, 3].map((last) => `${subnet}.${last}:4444`));
  for (const node of nodes) expect(node).toMatchObject({ answers: true, bans: [] });
  for (const { files } of nodes) expect(Number(files)).toBeGreaterThan(0);
}
