import { index, onchainTable } from 'ponder';

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
