import { expect, it } from 'vitest';
import { createDraftRoom } from '../../../../src/edges/node/storage/draft-room.ts';
import { createRoom } from '../../../../src/edges/node/storage/room.ts';

const ample = async () => await Promise.resolve({ total: 2n ** 50n, available: 2n ** 50n });

/** Room of 100 bytes for files that are being received, by a clock that a test moves. */
function start() {
  const time = { ms: 0 };
  const room = createRoom({ folder: '.', bound: -1, used: 0 }, ample);
  return { time, drafts: createDraftRoom(room, 400, () => time.ms) };
}

it('a slow file gives way to a faster one', { tags: ['S1.hostile.drafts'] }, async () => {
  const { time, drafts } = start();
  const slow = drafts.open();
  await slow.take(60);
  time.ms = 200_000;
  await drafts.open().take(50);
  expect(slow.signal.aborted).toBe(true);
});

it('no file is slow for a time in which the disk gave no answer', { tags: ['S1.hostile.drafts'] }, async () => {
  const { time, drafts } = start();
  const { promise: frozen, resolve: thaw } = Promise.withResolvers<void>();
  const file = drafts.open();
  await file.take(60);
  const waiting = file.ownTime(frozen);
  time.ms = 200_000;
  const other = drafts.open();
  time.ms += 1_000;
  const during = other.take(50);
  expect(file.signal.aborted).toBe(false);
  thaw();
  await waiting;
  const afterwards = drafts.open().take(50);
  expect(file.signal.aborted).toBe(false);
  file.close();
  await Promise.all([during, afterwards]);
});
