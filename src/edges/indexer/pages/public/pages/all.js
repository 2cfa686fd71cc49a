// @ts-check
/** @import { PageProps } from '../answers.d.ts' */
/** @import { Markup } from '../htm-preact.d.ts' */
import { Action } from './action.js';
import { Actions } from './actions.js';
import { Address } from './address.js';
import { Block, Chain } from './chain.js';
import { EventPage } from './event.js';
import { Home } from './home.js';
import { Log, Logs } from './log.js';
import { Models } from './models.js';
import { Node } from './node.js';
import { Nodes } from './nodes.js';
import { Search } from './search.js';
import { Transaction } from './transaction.js';
import { Transfers } from './transfers.js';
import { Verify } from './verify.js';

/**
 * Every page: its path, its title, what shows it.
 *
 * @type {readonly (readonly [string, string, (props: PageProps) => Markup])[]}
 */
export const pages = [
  ['/', 'Annals', Home],
  ['/search', 'Search', Search],
  ['/actions', 'Actions', Actions],
  ['/actions/:id', 'Action :id', Action],
  ['/nodes', 'SuperNodes', Nodes],
  ['/nodes/:id', 'SuperNode', Node],
  ['/log', 'Log', Logs],
  ['/log/:stream', 'Log :stream', Log],
  ['/log/:stream/:sequence', 'Event :stream :sequence', EventPage],
  ['/models', 'Read models', Models],
  ['/chain', 'Chain', Chain],
  ['/chain/blocks/:number', 'Block :number', Block],
  ['/chain/transactions/:hash', 'Transaction', Transaction],
  ['/chain/addresses/:address', 'Address', Address],
  ['/transfers', 'Transfers', Transfers],
  ['/verify', 'Verify', Verify],
];
