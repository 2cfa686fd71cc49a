import type { Fact } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/** The known state of a file at a node. */
export type KnownFile = Fact<'FileStored'>['data']['known'];

/** A node's current holding of a file; undefined: none. */
export type RecordFile = Readonly<{
  file: string;
  /** Bech32 account of the node. */
  node: string;
  action: string;
  /** RFC 3339, UTC. */
  at: string;
  held: Readonly<{ bytes: string; pieces: number }> | undefined;
}>;

type State = KnownFile | undefined;

/** A file that a node holds for the first time is stored, one that it had lost is repaired. */
export const storing: Decider<RecordFile, State, 'file'> = {
  kind: 'file',
  initialState: undefined,
  after: ({ data: { known } }) => known,
  decide({ file, node, action, at, held }, known) {
    if (held === undefined) {
      if (!known?.stored) return [];
      return [{ type: 'FileLost', data: { file, node, action, at, known: { ...known, stored: false } } }];
    }
    if (known?.stored && known.bytes === held.bytes && known.pieces === held.pieces) return [];
    const type = known && !known.stored ? 'FileRepaired' : 'FileStored';
    return [{ type, data: { file, node, action, at, known: { stored: true, ...held } } }];
  },
};

/** Records the current holdings of some files. */
export class RecordFiles extends Command<RecordFile, State> {}
