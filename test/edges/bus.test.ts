import { expect, it } from 'vitest';
import { createBus, ReadModels, RequestSync } from '../../src/edges/bus.ts';
import { AppError } from '../../src/commands/errors.ts';
import type { Reading } from '../../src/projections/reading.ts';

it('createBus carries commands and queries to their handlers, and failures back', async () => {
  const reading = {} as Reading;
  const bus = await createBus({
    requestSync: async ({ at }) => `asked at ${at}`,
    readModels: async (query) => await query.answer(reading),
  });
  await expect(bus.command(new RequestSync('now'))).resolves.toBe('asked at now');
  await expect(bus.query(new ReadModels(async (given) => given === reading))).resolves.toBe(true);
  const refused = new ReadModels(async () => Promise.reject(new AppError('UNAVAILABLE', 'later')));
  await expect(bus.query(refused)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await bus.close();
});
