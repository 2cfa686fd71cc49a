import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { TransferRow } from '../tables.ts';

type Request = Readonly<{
  direction: 'upload' | 'download';
  action?: string | undefined;
  /** RFC 3339, UTC: older ones are not shown. */
  since: string;
  limit: number;
}>;

/** The latest tasks of a direction, those of one action where it is named, newest first, and how many there are. */
export class ListTransfers extends Query<Request, Readonly<{ rows: readonly TransferRow[]; total: number }>> {}

/** What answers each query of transfers. */
export const transferQueries = [answered(ListTransfers, listTransfers)];

async function listTransfers({ db, schemas }: Reading, { direction, action, since, limit }: Request) {
  const chosen = db
    .withSchema(schemas.transfers)
    .selectFrom('transfers')
    .where('removed', '=', false)
    .where('direction', '=', direction)
    .where('created_at', '>=', since)
    .$if(action !== undefined, (query) => query.where('action', '=', action ?? ''));
  const rows = await chosen.selectAll().orderBy('created_at', 'desc').orderBy('task').limit(limit).execute();
  const counted = await chosen.select(({ fn }) => fn.countAll<string>().as('n')).executeTakeFirst();
  return { rows, total: Number(counted?.n ?? 0) };
}
