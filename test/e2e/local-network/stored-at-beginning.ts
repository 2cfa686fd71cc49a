import { expect } from 'vitest';
import { createDataHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { firstFiles } from '../../../src/edges/local-network/first-files.ts';
import { downloaded } from '../../edges/node/files-under-test.ts';
import { until } from '../../support/polling.ts';

type Json = Readonly<Record<string, unknown>>;

/** The files that the local network stores by itself: the API tells of them, and the last node gives them out. */
export async function expectStoredAtBeginning(subnet: string, read: (path: string) => Promise<Json>): Promise<void> {
  for (const { name, text } of firstFiles) {
    const hasher = await createDataHasher();
    hasher.update(Buffer.from(text));
    const dataHash = hasher.digest();
    const action = await until(`${name} is finalized`, async () => {
      const actions = (await read('/v1/actions?limit=200'))['actions'] as readonly Json[];
      return actions.find((one) => one['data_hash'] === dataHash && one['status'] === 'finalized');
    });
    const { bytes } = await downloaded(`${subnet}.3:4444`, String(action['id']));
    expect(bytes.toString()).toBe(text);
  }
}
