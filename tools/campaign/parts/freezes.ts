import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../../../test/support/programs/run-program.ts';
import { attempts } from '../attempts.ts';
import { type Field, openField } from '../../../test/support/field/field.ts';
import type { PartOptions, Tally } from '../part.ts';
import { familyOf, signalAll } from '../processes.ts';

const frozenForMs = 30_000;
const frozen = ['nats', 'postgres'] as const;
/** `/readyz` says that a store does not answer at the latest after this long. */
const noticedWithinMs = 20_000;
const answerWithinMs = 15_000;

/** Broker and database in turn, halted for 30 seconds (SIGSTOP) while the chain goes on. */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  await attempts({ open: () => openField({ seed }), times: count, judgedEach: 2, tally, log }, async (field, at) => {
    const what = frozen[at % frozen.length] ?? 'nats';
    await freezeOnce(field, what).catch((caught: unknown) => {
      throw new Error(`${what} was frozen`, { cause: caught });
    });
  });
  return tally;
}

async function freezeOnce(field: Field, what: (typeof frozen)[number]): Promise<void> {
  const over = await field.moment('sync');
  const program = field.supervised.program();
  const family = familyOf(program.servers()[what]);
  signalAll(family, 'SIGSTOP');
  try {
    await readyUntilNoticed(program);
  } finally {
    signalAll(family, 'SIGCONT');
  }
  await over();
  await field.untilHealed();
  await field.look();
}

/** Readiness is answered all the while, and is 503 once the silence has been noticed. */
async function readyUntilNoticed({ base }: Program): Promise<void> {
  const began = performance.now();
  const since = (): number => performance.now() - began;
  while (since() < frozenForMs) {
    const asked = since();
    const { status } = await fetch(`${base}/readyz`, { signal: AbortSignal.timeout(answerWithinMs) });
    if (status === 200 && asked > noticedWithinMs)
      throw new Error(`/readyz answers 200 after a store has been silent for ${Math.round(asked)} ms`);
    await pause(500);
  }
}
