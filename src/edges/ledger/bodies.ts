import { AppError } from '../../commands/errors.ts';
import type { Fact } from '../../events/catalogue.ts';
import type { Whole } from './blocks.ts';
import { sentIn } from '../cosmos/transaction-codec.ts';

/** What transactions did is left in the log, where it takes no memory, and read from there whenever it is asked for. */
export function bodiesIn(read: (sequence: number) => Promise<Fact | undefined>): Whole {
  return async (transactions) =>
    Promise.all(
      transactions.map(async (transaction) => {
        const fact = await read(transaction.sequence);
        const sealed = fact?.type === 'BlockSealed' ? fact.data.transactions : [];
        const found = sealed.find(({ hash }) => hash === transaction.hash);
        if (found) return { ...transaction, events: found.events, sent: sentIn(found) };
        throw new AppError('UNAVAILABLE', `The log does not give transaction ${transaction.hash} of the ledger now`);
      }),
    );
}
