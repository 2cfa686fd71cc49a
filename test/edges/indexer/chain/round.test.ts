import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import type { FactLog } from '../../../../src/commands/ports.ts';
import { requestSync } from '../../../../src/edges/indexer/rounds/request-sync.ts';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';

describe('runRound', () => {
  it('ends once in the log, though the acknowledgement was lost and somebody wrote meanwhile', async () => {
    const { round, log, news, faults } = await syncing();
    faults.instead = () => ({ status: 400, body: {} });
    let isLost = false;
    const append: FactLog['append'] = async (decisions, cause) => {
      const appended = await log.append(decisions, cause);
      if (isLost) return appended;
      isLost = true;
      await requestSync(log, '2026-11-21T10:00:00.000Z');
      throw new AppError('CONFLICT', 'Others have written meanwhile');
    };
    expect(await round('supernodes', { log: { ...log, append } })).toMatchObject({ failure: 'bad_answer' });
    expect((await news('SYNC')).map(({ type }) => type)).toEqual(['SyncRoundFailed', 'SyncRequested']);
    expect(await round('supernodes')).toMatchObject({ failure: 'bad_answer' });
    expect(
      (await news('SYNC')).map(({ type }) => type),
      'the next round',
    ).toEqual(['SyncRoundFailed']);
  });
});
