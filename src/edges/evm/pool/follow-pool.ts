import { toAppError } from '../../../commands/errors.ts';
import type { Recorded } from '../../../commands/ports.ts';
import type { StreamName } from '../../../events/streams.ts';
import { readTransaction, type SignedTransaction, type TransactionBounds } from './read-transaction.ts';

/** What following needs of the log. */
export type PoolLog = Readonly<{
  follow: (
    stream: StreamName,
    after: number,
    options: { signal: AbortSignal },
  ) => AsyncIterable<Readonly<{ facts: readonly Recorded[] }>>;
}>;

/** Hears of every transaction that was ever submitted and is still in the stream, then of those to come. */
export async function followPool(
  log: PoolLog,
  bounds: TransactionBounds,
  { take, signal }: Readonly<{ take: (transaction: SignedTransaction) => void; signal: AbortSignal }>,
): Promise<void> {
  for await (const { facts } of log.follow('POOL', 0, { signal }))
    for (const { fact } of facts) {
      if (fact.type !== 'EvmTransactionSubmitted') continue;
      const read = attempt(() =>
        readTransaction(Buffer.from(fact.data.raw, 'base64'), bounds, Date.parse(fact.data.at)),
      );
      if (read) take(read);
    }
}

/** What was taken in under other bounds is passed over. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (caught) {
    if (toAppError(caught).code === 'CONFLICT') return undefined;
    throw caught;
  }
}
