import type { Fact } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/** The known state of a peer at a node. */
export type KnownBan = Fact<'PeerBanned'>['data']['known'];

/** The current state of a peer for a node; `undefined`: the node does not ban it. */
export type RecordBan = Readonly<{
  pair: string;
  /** Bech32 accounts. */
  node: string;
  peer: string;
  /** RFC 3339, UTC. */
  at: string;
  ban: Readonly<{ count: number; since: string; address: string }> | undefined;
}>;

type State = KnownBan | undefined;

/** A peer is banned when it misbehaves, again each time that it does so, and released once. */
export const banning: Decider<RecordBan, State, 'peer'> = {
  kind: 'peer',
  initialState: undefined,
  after: ({ data: { known } }) => known,
  decide({ pair, node, peer, at, ban }, known) {
    if (ban === undefined) {
      if (!known?.banned) return [];
      return [{ type: 'PeerReleased', data: { pair, node, peer, at, known: { ...known, banned: false } } }];
    }
    if (known?.banned && known.since === ban.since && known.count === ban.count) return [];
    return [{ type: 'PeerBanned', data: { pair, node, peer, at, known: { banned: true, ...ban } } }];
  },
};

/** Records the current states of peers for nodes. */
export class RecordBans extends Command<RecordBan, State> {}
