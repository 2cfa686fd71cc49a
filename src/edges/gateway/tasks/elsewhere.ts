import { AppError } from '../../../kit/errors.ts';
import { within } from '../../../kit/wait.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { Absence } from './absence.ts';
import { endings } from './endings.ts';
import type { OpenTasks } from './open-tasks.ts';
import type { Runner } from './runner.ts';
import { currentTask, endTask } from './task-log.ts';

/** Uploads of the same action at other gateways. */
export type Elsewhere = Readonly<{
  /** Fails with `CONFLICT` where a gateway that is there has the action's upload in hand, or serves its bytes. */
  check: (action: string) => Promise<void>;
  /** Ends with `GONE` the uploads of an action whose bytes no gateway serves: a new one replaces them. */
  supersede: (action: string) => Promise<void>;
}>;

/** The context of these decisions; `holder` is this process. */
type Judging = Readonly<{
  log: Log;
  open: OpenTasks;
  absence: Absence;
  runner: Pick<Runner, 'has' | 'run'>;
  holder: string;
}>;

const readyWithinMs = 5_000;

/** Judges uploads that are open at other gateways by what the log and the gateways themselves announce. */
export function createElsewhere({ log, open, absence, runner, holder }: Judging): Elsewhere {
  return {
    check: async (action) => {
      // An upload that another gateway has accepted by now is known here then, however far behind this one reads.
      const read = open.ready.then(open.upToNow);
      await within(readyWithinMs, read, 'open transfers are still being read').catch((cause: unknown) => {
        throw new AppError('UNAVAILABLE', 'The gateway is still reading which transfers are open; try again', {
          cause,
        });
      });
      for (const task of open.uploadsOf(action)) {
        // It started here, though its caller was refused: the answer of the log was lost. The next one joins it.
        if (task.known.holder === holder && !runner.has(task.name)) runner.run(task);
        if (task.known.holder === holder || absence.isUnserved(task.known.store)) continue;
        const { known, id } = await currentTask(log, task);
        if (!known.ended)
          throw new AppError('CONFLICT', `Another gateway uploads action ${action}; watch its task ${id}`);
      }
    },
    supersede: async (action) => {
      for (const task of open.uploadsOf(action))
        if (absence.isUnserved(task.known.store)) await endTask(log, await currentTask(log, task), endings.lostFile);
    },
  };
}
