import { type ChainStub, startChainStub } from '../chains/chain-stub.ts';
import { GrowingChain } from '../chains/growing-chain.ts';
import { seeded } from '../histories/random-history.ts';
import { startNodes } from './nodes.ts';

/** A chain that goes on by a seed, and the SuperNodes that it lists. */
export type World = Readonly<{
  stub: ChainStub;
  /** Lets no further block come until `goOn`. */
  standStill: () => void;
  /** Lets blocks come, so many at most: where everything takes longer, there is no more to read for it. */
  goOn: () => void;
  end: () => Promise<void>;
}>;

/** So many blocks are there before the first start, so that the first fill is harmed as well. */
const blocksBefore = 60;
const blockEachMs = 300;
const blocksAtOnce = 20;

/** Begins a world; it goes on at once. */
export async function createWorld(seed: number): Promise<World> {
  const nodes = await startNodes();
  const stub = await startChainStub();
  const growing = new GrowingChain(stub.chain, seeded(seed), nodes.subnet);
  for (let block = 0; block < blocksBefore; block++) growing.grow();
  let growth: NodeJS.Timeout | undefined;
  const standStill = (): void => clearInterval(growth);
  const goOn = (): void => {
    standStill();
    const last = stub.chain.height + blocksAtOnce;
    growth = setInterval(() => {
      growing.grow();
      if (stub.chain.height >= last) standStill();
    }, blockEachMs);
  };
  goOn();
  return {
    stub,
    standStill,
    goOn,
    end: async () => {
      standStill();
      await Promise.all([stub.stop(), nodes.close()]);
    },
  };
}
