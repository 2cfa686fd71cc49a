import { rmSync } from 'node:fs';
import type { ChainStub } from '../chains/chain-stub.ts';
import { type Random, seeded } from '../histories/random-history.ts';
import { type Supervised, supervise } from '../programs/supervised.ts';
import { untilHealed } from './healing.ts';
import { awaitMoment, type Moment, type Over } from './moments.ts';
import { startScribe } from './scribe.ts';
import { temporaryFolder } from '../programs/temporary-folder.ts';
import { createWitness } from './witness.ts';
import { createWorld } from './world.ts';

/** A program that follows a chain that goes on, to be harmed. */
export type Field = Readonly<{
  stub: ChainStub;
  supervised: Supervised;
  random: Random;
  /** Lets the chain go on, and resolves in the middle of what is named; gives back how to end that. */
  moment: (moment: Moment) => Promise<Over>;
  /** Waits until the program is ready and tells of what the chain has registered by now. */
  untilHealed: () => Promise<void>;
  /** Checks log, read models and acknowledgements while the chain goes on. */
  look: () => Promise<void>;
  /**
   * Lets the chain stand still, waits until all of it is read, checks everything to its end, and lets the chain grow
   * again unless it is to stay as it is.
   */
  judge: (options?: Readonly<{ staysStill?: boolean }>) => Promise<void>;
  /** How much has been seen, for people. */
  figures: () => string;
  close: () => Promise<void>;
}>;

/** What a field is made of; `dataDir` instead of a temporary folder is left to the caller to remove. */
export type FieldOptions = Readonly<{
  seed: number;
  dataDir?: string;
  env?: Readonly<Record<string, string>>;
  nodeArguments?: readonly string[];
}>;

const settings = {
  ACTIONS_SYNC_INTERVAL: '100ms',
  SUPERNODES_SYNC_INTERVAL: '200ms',
  VALIDATORS_SYNC_INTERVAL: '300ms',
  PROBE_INTERVAL: '1s',
  PROBE_PRIVATE_ADDRESSES: 'allow',
};

/** Starts a chain by a seed and a program that follows it. */
export async function openField(options: FieldOptions): Promise<Field> {
  const { seed, dataDir = temporaryFolder() } = options;
  const world = await createWorld(seed);
  const { stub } = world;
  const random = seeded(seed + 1);
  const close = async (): Promise<void> => {
    await world.end();
    if (options.dataDir === undefined)
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  };
  try {
    const env = { ...settings, ...options.env, CHAIN_API_BASE: stub.url };
    const supervised = await supervise({ ...options, dataDir, env });
    const witness = createWitness(stub.chain);
    const scribe = await startScribe(supervised.program().instance.nats);
    return {
      stub,
      supervised,
      random,
      moment: (moment) => {
        world.goOn();
        scribe.goOn();
        return awaitMoment(moment, { program: supervised.program(), stub, random });
      },
      untilHealed: () => untilHealed(supervised, stub),
      look: async () => {
        await witness.look(supervised.program().instance);
        await scribe.check();
      },
      judge: async ({ staysStill = false } = {}) => {
        world.standStill();
        await witness.judge(supervised.program().instance);
        await scribe.check();
        if (!staysStill) world.goOn();
      },
      figures: () =>
        `${witness.seen()} facts, ${scribe.acknowledged()} acknowledged appends beside them, ${supervised.repeatedStarts()} repeated starts`,
      close: async () => {
        await scribe.stop();
        await supervised.program().stop();
        await close();
      },
    };
  } catch (caught) {
    await close();
    throw caught;
  }
}
