import type { StepDetail, TransferEvent } from '../../../commands/transfers/steps.ts';
import type { Task } from './task-log.ts';

/** A status event as clients read it (spec 3). */
export type StatusEvent = Readonly<{
  id: string;
  task_id: string;
  status: string;
  data: Readonly<Record<string, unknown>>;
  created_at: string;
}>;

/** A state of a task as clients read it. */
export function statusEvent({ id, known: { action } }: Task, event: TransferEvent): StatusEvent {
  const { number, status, at, detail = {} } = event;
  return { id: String(number), task_id: id, status, data: { action_id: action, ...dataOf(detail) }, created_at: at };
}

/** Names of the real client, where they are not those of the facts in snake case. */
const renamed: Readonly<Record<string, string | undefined>> = { nodeAccount: 'sn-address' };

function dataOf(detail: StepDetail): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(detail).map(([name, value]) => [
      renamed[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
