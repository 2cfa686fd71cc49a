import type { Fact, FactOf } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/** The height of the last block, 0 before the first; undefined before the chain is initialised. */
export type ChainHeight = number | undefined;

/** A possible next step of a chain: its genesis, or a block that was executed on its last one. */
export type ChainStep =
  | Readonly<{ kind: 'initialise'; chain: Fact<'ChainInitialised'>['data'] }>
  /** `root` is that of the state after it. */
  | Readonly<{ kind: 'seal'; block: Fact<'BlockSealed'>['data']; root: string }>;

/** Blocks between two attested states. */
export const checkpointEach = 1_000;

/** A chain is initialised once, and a block is sealed on the one before it; each thousandth attests its state. */
export const sealing: Decider<ChainStep, ChainHeight, 'ledger'> = {
  kind: 'ledger',
  initialState: undefined,
  after: heightAfter,
  decide: (step, height) => {
    if (step.kind === 'initialise') return height === undefined ? [{ type: 'ChainInitialised', data: step.chain }] : [];
    const { block, root } = step;
    if (height === undefined || block.height !== height + 1) return [];
    const sealed: FactOf<'ledger'> = { type: 'BlockSealed', data: block };
    if (block.height % checkpointEach !== 0) return [sealed];
    return [sealed, { type: 'StateCheckpointed', data: { chain: block.chain, height: block.height, root } }];
  },
};

function heightAfter({ type, data }: FactOf<'ledger'>): ChainHeight {
  switch (type) {
    case 'ChainInitialised':
      return 0;
    case 'BlockSealed':
    case 'StateCheckpointed':
      return data.height;
  }
}

/** The next step of a chain. */
export class AdvanceChain extends Command<ChainStep, ChainHeight> {}
