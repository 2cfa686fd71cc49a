import { setTimeout as pause } from 'node:timers/promises';
import { harmLog } from '../../../test/support/kills/log-harm.ts';
import type { Program } from '../../../test/support/programs/run-program.ts';
import { runVerb } from '../../../test/support/programs/verb.ts';
import { harms } from '../../../test/support/victim/harm.ts';
import { harmChain } from '../chain-harms.ts';
import type { PartOptions, Tally } from '../part.ts';

/** The log of the chain and of all that moves beside it. */
const streams = ['LEDGER', 'POOL', 'TRANSFERS', 'ACTIONS', 'STORAGE', 'PROBES', 'SYNC', 'NODES'] as const;

/**
 * One file of the log at a time has a bit flipped, is cut or deleted while nats-server restarts under a whole local
 * network: transactions and files go on after each.
 */
export async function run(options: PartOptions): Promise<Tally> {
  let at = 0;
  return await harmChain({
    ...options,
    env: { SCRUB_INTERVAL: '5s' },
    operate: repairOnRequest,
    once: async ({ program, random, harm, filesMove }) => {
      const kind = harms[Math.floor(at / streams.length + at) % harms.length] ?? 'flip';
      const stream = streams[at % streams.length] ?? 'LEDGER';
      at += 1;
      const began = performance.now();
      const since = (): number => Math.round(performance.now() - began);
      let harmed = '';
      await harm(async () => void (harmed = await harmLog(program, { stream, kind }, random)));
      const transactionsMs = since();
      await filesMove();
      return `${harmed}: transactions go on after ${transactionsMs} ms, files after ${since()}`;
    },
  });
}

/** Does what an operator does: what was restored within the hour is restored again only by `annals repair`. */
async function repairOnRequest(program: Program, signal: AbortSignal): Promise<void> {
  for (let seen = 0; !signal.aborted; await pause(500)) {
    const lines = program.log.slice(seen);
    seen += lines.length;
    if (lines.some((line) => JSON.stringify(line).includes('annals repair'))) await runVerb(program.dataDir, 'repair');
  }
}
