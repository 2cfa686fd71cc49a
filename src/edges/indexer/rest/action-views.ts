import type { Static } from 'typebox';
import type { ListedAction } from '../../../projections/actions/action-list.ts';
import { OperatorsOfAction } from '../../../projections/actions/queries.ts';
import type { StepTransaction } from '../../../projections/actions/action-tables.ts';
import type { ActionRow } from '../../../projections/tables.ts';
import { decodeMetadata } from '../../chain/rest/records.ts';
import type { actionDetail, actionListItem } from './action-schemas.ts';
import type { ReadSnapshot } from './reads.ts';

type ListItem = Static<typeof actionListItem.schema>;
type Detail = Static<typeof actionDetail.schema>;

/** An action as the list shows it. */
export function listItemOf(row: ListedAction, withTransactions: boolean): ListItem {
  return { ...commonOf(row), ...(withTransactions ? { transactions: transactionsOf(row) } : {}) };
}

/** An action with all that is known of it; the chain leaves `public` out of metadata where it is false. */
export async function detailOf(request: ReadSnapshot['ask'], row: ActionRow): Promise<Detail> {
  const kind = row.type === 'cascade' ? 'cascade' : 'sense';
  const metadata = row.metadata === '' ? undefined : decodeMetadata(kind, row.metadata);
  const { price_denom: denom, price_amount: amount } = row;
  const fileName = metadata?.file_name;
  return {
    ...commonOf(row),
    creator: row.creator,
    approved_at: row.approved_at,
    transactions: transactionsOf(row),
    height: row.height,
    price: denom === null || amount === null ? null : { denom, amount },
    expires_at: row.expires_at,
    supernodes: await request(new OperatorsOfAction({ action: row })),
    metadata: metadata ?? null,
    file_name: typeof fileName === 'string' && fileName !== '' ? fileName : null,
    file_size_kbs: row.file_size_kbs,
    public: metadata && kind === 'cascade' ? metadata.public === true : null,
  };
}

function commonOf(row: ListedAction): Omit<ListItem, 'transactions'> {
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    chain_state: row.chain_state,
    data_hash: row.data_hash,
    created_at: row.created_at,
    finalized_at: row.finalized_at,
  };
}

function transactionsOf({ register_tx, finalize_tx, approve_tx }: ListedAction): Detail['transactions'] {
  return { register: stepOf(register_tx), finalize: stepOf(finalize_tx), approve: stepOf(approve_tx) };
}

/** The database returns the fields in an order of its own. */
const stepOf = (step: StepTransaction | null) => step && { tx_hash: step.tx_hash, height: step.height };
