import { inspect } from 'node:util';
import type { Field } from '../../test/support/field/field.ts';

/**
 * How a part harms one field: as often as told, with everything checked to its end each so many times and at the end.
 */
export type Attempts = Readonly<{
  open: () => Promise<Field>;
  times: number;
  judgedEach?: number;
  tally: { passed: number; failed: number };
  log: (line: string) => void;
}>;

/**
 * Opens a field and harms it; what goes wrong is told and counted, and ends the field, for what follows would be wrong
 * as well.
 */
export async function attempts(
  { open, times, judgedEach = 10, tally, log }: Attempts,
  harm: (field: Field, at: number) => Promise<void>,
): Promise<void> {
  let field: Field | undefined;
  let done = 0;
  try {
    field = await open();
    for (; done < times; done++) {
      await harm(field, done);
      if (done % judgedEach === judgedEach - 1 || done === times - 1) await field.judge();
      tally.passed += 1;
    }
    log(`${done} more passed; this program saw ${field.figures()}`);
  } catch (caught) {
    tally.failed += 1;
    log(
      `attempt ${done + 1} of ${times} on this program failed: ${inspect(caught, { depth: 4, maxStringLength: 2000, maxArrayLength: 8 })}`,
    );
  } finally {
    await field?.close();
  }
}
