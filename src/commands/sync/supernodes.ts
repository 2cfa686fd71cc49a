import type { Fact } from '../../events/catalogue.ts';
import { Command } from '../command.ts';
import { listed, type ListedState, type RecordListed } from './listed.ts';

/** A SuperNode as the chain's list describes it. */
export type SuperNodeRecord = Fact<'SuperNodeListed'>['data']['record'];

/** Which SuperNodes the chain lists, and what it says of them. */
export const supernodes = listed<'node', SuperNodeRecord>('node', {
  listed: 'SuperNodeListed',
  changed: 'SuperNodeChanged',
  removed: 'SuperNodeRemoved',
  seen: ({ type, data }) => ({ type, ...data }),
  fact: (type, node, seen) => ({ type, data: { node, ...seen } }),
});

/** What a list, read whole at one height, says of SuperNodes. */
export class RecordSuperNodes extends Command<
  RecordListed<SuperNodeRecord>,
  ListedState<SuperNodeRecord> | undefined
> {}
