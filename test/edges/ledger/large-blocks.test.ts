import { expect, test } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { Message } from '../../../src/commands/ledger/messages.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { cast, freshLog, seed, send, startLedger } from './ledger-under-test.ts';

const register = (creator: number, actions = 1): Message[] =>
  messagesOf(
    {
      kind: 'register',
      registrations: Array.from({ length: actions }, (_, id) => ({
        id,
        isSense: false,
        creator,
        lifetimeSeconds: 90_000,
      })),
    },
    { seed, cast, atMs: Date.now(), idOf: String },
  );

/** A log over a broker that takes only small messages; it refuses larger ones as the appender does. */
function narrow(log: Log, mostBytes: number): Log {
  const append: Log['append'] = async (decisions, cause) => {
    if (JSON.stringify(decisions).length > mostBytes)
      throw new AppError('INVALID_ARGUMENT', 'An event is larger than the broker takes');
    return await log.append(decisions, cause);
  };
  return { ...log, append };
}

test('a block that is too large for a message is split, and a transaction that fits none is refused', async () => {
  await using fresh = await freshLog();
  let sealing = Promise.resolve();
  const blocks: number[] = [];
  const log = narrow(fresh.log, 12_000);
  const append: Log['append'] = async (...given) => {
    if (given[0].every(({ kind }) => kind !== 'ledger')) return await fresh.log.append(...given);
    await sealing;
    const appended = await log.append(...given);
    blocks.push(JSON.stringify(given[0]).length);
    return appended;
  };
  await using ledger = await startLedger({ ...log, append });
  const { promise, resolve } = Promise.withResolvers<void>();
  sealing = promise;
  // The first block waits at the log, so that all the others are of one block.
  const all = [send(ledger, register(0)), ...[1, 2, 3, 4].map((creator) => send(ledger, register(creator)))];
  const large = send(ledger, register(0, 10)).catch((caught: unknown) => caught);
  resolve();
  const receipts = await Promise.all(all);
  expect(receipts.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  expect(new Set(receipts.map(({ height }) => height)).size, 'more than one block').toBeGreaterThan(2);
  expect(await large).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('too large') });
  expect(Math.max(...blocks)).toBeLessThanOrEqual(12_000);
  expect(await send(ledger, register(0)), 'the chain goes on').toMatchObject({ code: 0 });
});
