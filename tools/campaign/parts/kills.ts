import { type Victim, victims } from '../../../test/support/supervised.ts';
import { attempts } from '../attempts.ts';
import { type Field, openField } from '../field.ts';
import { type Moment, moments } from '../moments.ts';
import type { PartOptions, Tally } from '../part.ts';

/** After so many kills a new field begins with its first fill. */
const killsOfField = 30;

/**
 * `kill -9` of service, nats-server and PostgreSQL, as often each, at moments that the seed decides: of a round of
 * sync, of a probe round, of a replay and its switch.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  for (let at = 0; at < count; at += killsOfField) {
    const open = (): Promise<Field> => openField({ seed: seed + at });
    const times = Math.min(killsOfField, count - at);
    await attempts({ open, times, tally, log }, async (field, kill) => {
      const victim = victims[(at + kill) % victims.length] ?? 'service';
      const moment = moments[field.random.below(moments.length)] ?? 'sync';
      await killOnce(field, victim, moment).catch((caught: unknown) => {
        throw new Error(`${victim} was killed during ${moment}`, { cause: caught });
      });
    });
  }
  return tally;
}

async function killOnce(field: Field, victim: Victim, moment: Moment): Promise<void> {
  const over = await field.moment(moment);
  await field.supervised.kill(victim);
  await over();
  await field.untilHealed();
  await field.look();
}
