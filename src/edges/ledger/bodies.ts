import { AppError } from '../../commands/errors.ts';
import { parseMessage } from '../../commands/ledger/messages.ts';
import type { Fact } from '../../events/catalogue.ts';
import type { Whole } from './blocks.ts';

/** What transactions did is left in the log, where it takes no memory, and read from there whenever it is asked for. */
export function bodiesIn(read: (sequence: number) => Promise<Fact | undefined>): Whole {
  return async (transactions) =>
    Promise.all(
      transactions.map(async (transaction) => {
        const fact = await read(transaction.sequence);
        const sealed = fact?.type === 'BlockSealed' ? fact.data.transactions : [];
        const found = sealed.find(({ hash }) => hash === transaction.hash);
        if (found) return { ...transaction, events: found.events, messages: found.messages.map(parseMessage) };
        throw new AppError('UNAVAILABLE', `The log does not give transaction ${transaction.hash} of the ledger now`);
      }),
    );
}
