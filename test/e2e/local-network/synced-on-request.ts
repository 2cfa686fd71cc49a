import { expect } from 'vitest';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { until } from '../../support/polling.ts';
import type { Program } from '../../support/programs/program.ts';

/** Asks for a sync: rounds of SuperNodes and validators name the request as their cause, and probes the round. */
export async function expectSyncedOnRequest({ base, instance }: Pick<Program, 'base' | 'instance'>): Promise<void> {
  const headers = { authorization: 'Bearer let-me-in' };
  const asked = await fetch(`${base}/v1/supernodes/sync`, { method: 'POST', headers });
  expect(asked.status).toBe(202);
  const { position } = (await asked.json()) as { position: string };
  const places = JSON.parse(Buffer.from(position, 'base64url').toString()) as Record<string, [string, number]>;
  const nc = await connectNats({ ...instance.nats, name: 'test' });
  const log = createLog(nc, 'local');
  const request = await log.readOne('SYNC', places['SYNC']?.[1] ?? 0);
  expect(request?.fact.type).toBe('SyncRequested');
  const rounds = await until('both rounds are completed', async () => {
    const last = await log.last('sync', ['supernodes', 'validators']);
    const answers = [...last.values()].filter(
      ({ fact, causation }) => fact.type === 'SyncRoundCompleted' && causation === request?.id,
    );
    return answers.length === 2 && last;
  });
  const round = rounds.get('supernodes');
  await until('a probe follows the round', async () =>
    [...(await log.lastOfAll('probe')).values()].some(({ causation }) => causation === round?.id),
  );
  await nc.close();
}
