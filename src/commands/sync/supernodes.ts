import type { Fact } from '../../events/catalogue.ts';
import { type Decider, ownFacts } from '../decider.ts';
import { same } from './same.ts';

/** A SuperNode as the chain's list describes it. */
export type SuperNodeRecord = Fact<'SuperNodeListed'>['data']['record'];

/** What the list, read whole at one height, says of a SuperNode; no record: it is not on it. */
export type RecordSuperNode = Readonly<{ node: string; height: number; record: SuperNodeRecord | undefined }>;

type State = Readonly<{ seenAtHeight: number; record: SuperNodeRecord; isListed: boolean }> | undefined;

/** Which SuperNodes the chain lists, and what it says of them; a list read before the last known one decides nothing. */
export const supernodes: Decider<
  RecordSuperNode,
  State,
  Fact<'SuperNodeListed' | 'SuperNodeChanged' | 'SuperNodeRemoved'>
> = {
  kind: 'node',
  initialState: undefined,
  after: ({ type, data: { seenAtHeight, record } }) => ({
    seenAtHeight,
    record,
    isListed: type !== 'SuperNodeRemoved',
  }),
  isOwn: ownFacts('SuperNodeListed', 'SuperNodeChanged', 'SuperNodeRemoved'),
  decide({ node, height: seenAtHeight, record }, state) {
    if (state !== undefined && seenAtHeight < state.seenAtHeight) return [];
    if (record === undefined) {
      return state?.isListed ? [{ type: 'SuperNodeRemoved', data: { node, seenAtHeight, record: state.record } }] : [];
    }
    if (!state?.isListed) return [{ type: 'SuperNodeListed', data: { node, seenAtHeight, record } }];
    return same(record, state.record) ? [] : [{ type: 'SuperNodeChanged', data: { node, seenAtHeight, record } }];
  },
};
