import { inspect } from 'node:util';
import { killDuringRegister, lastEvent } from '../../../test/edges/node/killed-register.ts';
import { openLedgerWorld } from '../../../test/support/chains/ledger-world.ts';
import type { PartOptions, Tally } from '../part.ts';

/**
 * `kill -9` of a SuperNode in the midst of Register, at points that the seed decides: no half file is served, none is
 * left an hour later, and the same file can be registered again. Every fifth falls around the finalization.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  await using undo = new AsyncDisposableStack();
  const world = await openLedgerWorld(undo);
  for (let kill = 0; kill < count; kill += 1)
    try {
      const atEvent = kill % 5 === 4 ? lastEvent - (kill % 2) : undefined;
      log(await killDuringRegister(world, `${seed}/${kill}`, atEvent));
      tally.passed += 1;
    } catch (caught) {
      log(inspect(caught, { depth: 3 }));
      tally.failed += 1;
    }
  return tally;
}
