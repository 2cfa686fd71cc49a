import { inspect } from 'node:util';
import { type Victim, victims } from '../../../test/support/supervised.ts';
import { type Moment, moments } from '../moments.ts';
import { type Field, openField } from '../field.ts';
import type { PartOptions, Tally } from '../part.ts';

/** After so many kills everything is checked to its end, and a new field begins with its first fill. */
const killsOfField = 30;
const judgedEach = 10;

/**
 * `kill -9` of service, nats-server and PostgreSQL, as often each, at moments that the seed decides: of a round of sync,
 * of a probe round, of a replay and its switch.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  for (let at = 0; at < count; at += killsOfField) {
    const kills = Math.min(killsOfField, count - at);
    const field = await openField({ seed: seed + at });
    try {
      for (let kill = 0; kill < kills; kill++) {
        const victim = victims[(at + kill) % victims.length] ?? 'service';
        const moment = moments[field.random.below(moments.length)] ?? 'sync';
        await killOnce(field, victim, moment).catch((caught: unknown) => {
          throw new Error(`${victim} killed during ${moment}`, { cause: caught });
        });
        if (kill % judgedEach === judgedEach - 1 || kill === kills - 1) await field.judge();
        tally.passed += 1;
      }
      log(`${at + kills} kills, of this field ${field.figures()}`);
    } catch (caught) {
      tally.failed += 1;
      log(`after ${tally.passed} kills, seed of the field ${seed + at}: ${text(caught)}`);
    } finally {
      await field.close();
    }
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

function text(caught: unknown): string {
  return inspect(caught, { maxStringLength: 4000 });
}
