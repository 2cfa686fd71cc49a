import type pg from 'pg';
import type { ChainConfig } from '../executor/state/genesis.ts';

/** Where the state of a chain lies, as plain data: a thread has connections of its own. */
export type StateAccess = Readonly<{ postgres: pg.ClientConfig; network: string; config: ChainConfig }>;
