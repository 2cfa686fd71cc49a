import { rmSync } from 'node:fs';
import { type Random, seeded } from '../../test/support/histories/random-history.ts';
import { openStoreKills, wholeNetwork } from '../../test/support/kills/store-kills.ts';
import { type Program, runProgram } from '../../test/support/programs/run-program.ts';
import { temporaryFolder } from '../../test/support/programs/temporary-folder.ts';
import type { PartOptions, Tally } from './part.ts';

/** A whole local network under harm; `random` decides all that is left to chance. */
export type HarmedChain = Readonly<{
  program: Program;
  random: Random;
  /** Does the harm while transactions of both kinds are sent and files move, and waits until transactions go on. */
  harm: (doing: () => Promise<void>) => Promise<void>;
  filesMove: () => Promise<void>;
}>;

/** How a whole local network is harmed: as often as the options say. */
export type ChainHarm = PartOptions &
  Readonly<{
    dataDir?: string;
    env?: Readonly<Record<string, string>>;
    once: (chain: HarmedChain) => Promise<string>;
    /** What an operator does meanwhile. */
    operate?: (program: Program, signal: AbortSignal) => Promise<void>;
  }>;

/**
 * Harms a whole local network so many times, one after the other, and logs what each `once` says: the program never
 * ends, and in the end everything that was acknowledged is there.
 */
export async function harmChain(options: ChainHarm): Promise<Tally> {
  const { count, seed, log, dataDir = temporaryFolder(), env, once, operate } = options;
  const ending = new AbortController();
  const program = await runProgram({ dataDir, network: 'local', env: { ...wholeNetwork(), ...env } });
  const random = seeded(seed);
  const operating = operate?.(program, ending.signal);
  try {
    await program.untilReady();
    const kills = openStoreKills(program);
    const { filesMove } = kills;
    const chain = {
      program,
      random,
      filesMove,
      harm: async (doing) => await kills.harm(doing, random),
    } satisfies HarmedChain;
    try {
      for (let done = 0; done < count; done += 1) log(await once(chain));
      const { ethereum, cosmos, files } = await kills.judge();
      log(`acknowledged: ${ethereum} of the virtual machine, ${cosmos} of the chain, ${files} uploads`);
    } finally {
      kills.end();
    }
    return { passed: count, failed: 0 };
  } finally {
    for (const line of program.log.filter(({ level }) => level === 'error' || level === 'fatal').slice(-20))
      log(JSON.stringify(line).slice(0, 300));
    ending.abort();
    await operating;
    await program.stop();
    if (options.dataDir === undefined)
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}
