import { index, onchainTable, primaryKey } from 'ponder';

/** What the latest probe of a node found. */
export const node = onchainTable('node', (t) => ({
  id: t.text().primaryKey(),
  available: t.boolean().notNull(),
  peers: t.integer().notNull(),
  lastSeenAt: t.bigint().notNull(),
  probes: t.integer().notNull(),
}));

/** Filled by the driver, as what an indexer would have made of a long chain; only read. */
export const action = onchainTable(
  'action',
  (t) => ({
    id: t.integer().primaryKey(),
    type: t.text().notNull(),
    state: t.text().notNull(),
    creator: t.text().notNull(),
    supernode: t.text().notNull(),
    height: t.integer().notNull(),
    createdAt: t.text().notNull(),
    sizeBytes: t.integer().notNull(),
    price: t.text().notNull(),
    metadata: t.text().notNull(),
  }),
  (table) => ({
    state: index().on(table.state),
    creator: index().on(table.creator),
    supernode: index().on(table.supernode),
    height: index().on(table.height),
  }),
);

/** A SuperNode as the chain lists it. */
export const supernode = onchainTable(
  'supernode',
  (t) => ({
    id: t.text().primaryKey(),
    account: t.text().notNull(),
    address: t.text().notNull(),
    state: t.text().notNull(),
    available: t.boolean().notNull(),
    version: t.text().notNull(),
    failures: t.integer().notNull(),
  }),
  (table) => ({ state: index().on(table.state) }),
);

/** An action with its steps, as Annals stores it. */
export const life = onchainTable(
  'life',
  (t) => ({
    id: t.integer().primaryKey(),
    type: t.text().notNull(),
    status: t.text().notNull(),
    chainState: t.text().notNull(),
    creator: t.text().notNull(),
    dataHash: t.text().notNull(),
    height: t.integer().notNull(),
    price: t.text().notNull(),
    metadata: t.text().notNull(),
    expiresAt: t.text().notNull(),
    registerTx: t.text().notNull(),
    finalizeTx: t.text(),
    finalizedHeight: t.integer(),
    approveTx: t.text(),
    approvedHeight: t.integer(),
    account: t.text(),
    steps: t.integer().notNull(),
  }),
  (table) => ({
    kind: index().on(table.type, table.status, table.id),
    creator: index().on(table.creator, table.id),
    dataHash: index().on(table.dataHash),
    height: index().on(table.height, table.id),
  }),
);

/** The accounts that finalized actions. */
export const lifeAccount = onchainTable(
  'life_account',
  (t) => ({ account: t.text().notNull(), id: t.integer().notNull(), kind: t.text().notNull() }),
  (table) => ({ pk: primaryKey({ columns: [table.account, table.id] }) }),
);

/** What was paid to them. */
export const lifePayment = onchainTable(
  'life_payment',
  (t) => ({
    account: t.text().notNull(),
    id: t.integer().notNull(),
    amount: t.text().notNull(),
    txHash: t.text().notNull(),
    height: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.account, table.id] }) }),
);

/** How many actions of a kind there are by scope and range of ids. */
export const lifeCounter = onchainTable(
  'life_counter',
  (t) => ({
    scope: t.text().notNull(),
    block: t.integer().notNull(),
    kind: t.text().notNull(),
    n: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.scope, table.block, table.kind] }) }),
);
