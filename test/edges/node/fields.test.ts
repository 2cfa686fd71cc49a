import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { afterEach, describe, expect, it } from 'vitest';
import { SpecSupernodeService } from '../../../src/edges/node/services.ts';
import { StatusResponseSchema } from '../../../src/edges/gen/supernode/supernode_pb.ts';
import { until } from '../../support/polling.ts';
import { bytesOf, downloaded, pendingAction, upload } from './files-under-test.ts';
import { loseAllPieces, networkUnderTest } from './network-under-test.ts';

const undo = new AsyncDisposableStack();
afterEach(() => undo.disposeAsync());

type Listed = Readonly<{ field: string; type: string }>;

/** Every leaf of a message: `[]` stands behind lists, `{}` behind maps. */
function leavesOf(message: DescMessage, before = ''): Listed[] {
  return message.fields.flatMap((field) => {
    const name = `${before}${field.name}${{ list: '[]', map: '{}' }[field.fieldKind as string] ?? ''}`;
    const inner = 'message' in field ? field.message : undefined;
    if (inner && inner.fields.length > 0) return leavesOf(inner, `${name}.`);
    return [{ field: name, type: inner ? 'message' : scalarOf(field) }];
  });
}

const scalarOf = (field: DescField): string =>
  'scalar' in field && field.scalar ? ScalarType[field.scalar].toLowerCase() : 'unknown';

/** All values at a leaf; `undefined` among them where one is missing. */
function valuesAt(value: unknown, [step = '', ...more]: readonly string[]): unknown[] {
  const member = Object(value)[step.replace(/[[{].*$/, '')] as unknown;
  const members = /[[{]/.test(step) ? Object.values(Object(member)) : [member];
  return more.length === 0 ? members : members.flatMap((one) => valuesAt(one, more));
}

const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string' && value !== '',
  double: (value) => typeof value === 'number' && value >= 0,
  int32: (value) => Number.isSafeInteger(value),
  uint32: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  int64: (value) => typeof value === 'string' && /^\d+$/.test(value),
  uint64: (value) => typeof value === 'string' && /^\d+$/.test(value),
  message: (value) => value === null,
};

describe('the status of a node', () => {
  it(
    'is listed in docs/node.md with its type, and answered in it',
    { tags: ['S1.status.fields', 'S1.network.peers'] },
    async () => {
      const page = readFileSync(path.resolve('docs/node.md'), 'utf8');
      const [, table = ''] = /<!-- fields -->([^]*)<!-- \/fields -->/.exec(page) ?? [];
      const listed = [...table.matchAll(/^\| `([^`]+)` +\| (\w+)/gm)].map(([, field = '', type = '']) => ({
        field,
        type,
      }));
      expect(listed).toEqual(leavesOf(StatusResponseSchema));
      expect(leavesOf(SpecSupernodeService.method.getStatus.output)).toEqual(listed);
      const status = await busyStatus();
      for (const { field, type } of listed) {
        const values = valuesAt(status, field.split('.'));
        if (!field.startsWith('running_tasks')) expect(values.length, field).toBeGreaterThan(0);
        for (const value of values) expect(forms[type]?.(value), `${field}: ${String(value)}`).toBe(true);
        if (field.endsWith('percent') || field.endsWith('success_rate'))
          for (const value of values) expect(value, field).toBeLessThanOrEqual(100);
      }
      expect(valuesAt(status, ['network', 'peer_addresses[]'])).toEqual([
        expect.stringMatching(/^lumera1[a-z\d]+@127\.[\d.]+:\d+$/),
      ]);
      expect(status).toMatchObject({ network: { peers_count: 1 }, resources: { storage_volumes: [{}] } });
    },
  );
});

/** What a node tells that has stored, fetched, counted and banned. */
async function busyStatus(): Promise<unknown> {
  const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 2, { repairEachMs: 600_000 });
  const [one, liar] = cast;
  if (!one || !liar) throw new Error('the cast has two');
  await impersonate(liar, async () => ({ done: true, data: Buffer.from('other bytes') }));
  const node = await start(one);
  const file = bytesOf('v', 2_000);
  const actionId = await pendingAction(ledger, file);
  await upload(node.grpc, actionId, file);
  await loseAllPieces(node.storageFolder);
  for (const _ of [1, 2])
    await expect(downloaded(node.grpc, actionId)).rejects.toMatchObject({ code: Code.Unavailable });
  return await until('the ban is shown', async () => {
    const answer = await fetch(`${node.http}/api/v1/status?include_p2p_metrics=true`);
    const status = (await answer.json()) as { rank: number; p2p_metrics: { ban_list: unknown[] } };
    return status.rank > 0 && status.p2p_metrics.ban_list.length === 1 && status;
  });
}
