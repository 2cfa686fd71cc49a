import { type ChainStub, startChainStub } from '../chains/chain-stub.ts';
import { GrowingChain } from '../chains/growing-chain.ts';
import { seeded } from '../histories/random-history.ts';
import { temporaryFolder } from '../programs/temporary-folder.ts';

/** A chain that goes on until it is stopped. */
export type LiveChain = Readonly<{
  stub: ChainStub;
  /** A new folder for a program that follows it. */
  newFolder: () => string;
  stop: () => Promise<void>;
}>;

const blocksBefore = 60;
const blockEachMs = 2000;

/** Starts a chain by a seed. */
export async function beginChain(seed: number): Promise<LiveChain> {
  const stub = await startChainStub();
  const growing = new GrowingChain(stub.chain, seeded(seed));
  for (let block = 0; block < blocksBefore; block++) growing.grow();
  const growth = setInterval(() => growing.grow(), blockEachMs);
  const stop = async (): Promise<void> => {
    clearInterval(growth);
    await stub.stop();
  };
  return { stub, newFolder: temporaryFolder, stop };
}
