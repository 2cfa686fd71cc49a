import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../../../test/support/histories/random-history.ts';
import { harmLog } from '../../../test/support/kills/log-harm.ts';
import { openStoreKills, wholeNetwork } from '../../../test/support/kills/store-kills.ts';
import { type Program, runProgram } from '../../../test/support/programs/run-program.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';
import { runVerb } from '../../../test/support/programs/verb.ts';
import { harms } from '../../../test/support/victim/harm.ts';
import type { PartOptions, Tally } from '../part.ts';

/** The log of the chain and of all that moves beside it. */
const streams = ['LEDGER', 'POOL', 'TRANSFERS', 'ACTIONS', 'STORAGE', 'PROBES', 'SYNC', 'NODES'] as const;

/**
 * One file of the log at a time has a bit flipped, is cut or deleted while nats-server restarts under a whole local
 * network, and transactions of both kinds are sent and files move: the program never ends, and nothing acknowledged is
 * lost.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const dataDir = temporaryFolder();
  const program = await runProgram({ dataDir, network: 'local', env: { ...wholeNetwork(), SCRUB_INTERVAL: '5s' } });
  await program.untilReady();
  const chain = openStoreKills(program);
  const random = seeded(seed);
  const ending = new AbortController();
  const operating = operate(program, ending.signal);
  let passed = 0;
  try {
    for (; passed < count; passed += 1) {
      const kind = harms[Math.floor(passed / streams.length + passed) % harms.length] ?? 'flip';
      const stream = streams[passed % streams.length] ?? 'LEDGER';
      const began = performance.now();
      await chain.harm(async () => log(await harmLog(program, { stream, kind }, random)), random);
      const transactionsMs = Math.round(performance.now() - began);
      await chain.filesMove();
      log(`transactions go on after ${transactionsMs} ms, files after ${Math.round(performance.now() - began)}`);
    }
    const { ethereum, cosmos, files } = await chain.judge();
    log(`acknowledged: ${ethereum} of the virtual machine, ${cosmos} of the chain, ${files} uploads`);
    return { passed, failed: 0 };
  } finally {
    for (const line of program.log.filter(({ level }) => level === 'error' || level === 'fatal').slice(-20))
      log(JSON.stringify(line).slice(0, 300));
    chain.end();
    ending.abort();
    await operating;
    await program.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

/** Does what an operator does: what was restored within the hour is restored again only by `annals repair`. */
async function operate(program: Program, signal: AbortSignal): Promise<void> {
  for (let seen = 0; !signal.aborted; await pause(500)) {
    const lines = program.log.slice(seen);
    seen += lines.length;
    if (lines.some((line) => JSON.stringify(line).includes('annals repair'))) await runVerb(program.dataDir, 'repair');
  }
}
