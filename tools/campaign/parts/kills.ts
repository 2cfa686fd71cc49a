import { victims } from '../../../test/support/supervised.ts';
import { openField } from '../field.ts';
import type { PartOptions, Tally } from '../part.ts';

/** `kill -9` of service, nats-server and PostgreSQL in turn, at moments that the seed decides. */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const field = await openField({ seed });
  try {
    for (let at = 0; at < count; at++) {
      const victim = victims[at % victims.length] ?? 'service';
      await field.moment();
      await field.supervised.kill(victim);
      await field.untilHealed();
      log(`${at + 1} ${victim}`);
    }
    return { passed: count, failed: 0 };
  } finally {
    await field.close();
  }
}
