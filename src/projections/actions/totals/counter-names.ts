import { remembered } from './memoize.ts';

/** Which actions a counter counts; any type or status where it is left out. */
export type CounterCell = Readonly<{ type?: string | undefined; status?: string | undefined }>;

/**
 * The name of the counter of all actions of a type and status.
 *
 * @example counterName({ type: 'sense' }) // type:sense
 */
export function counterName({ type, status }: CounterCell): string {
  if (type === undefined) return status === undefined ? 'all' : `status:${status}`;
  return status === undefined ? `type:${type}` : `type:${type},status:${status}`;
}

/** The counters of all actions that an action adds one to: all, its type, its status, both. */
export const counterNames = remembered((type: string, status: string): readonly string[] => [
  counterName({}),
  counterName({ type }),
  counterName({ status }),
  counterName({ type, status }),
]);

/** The counter of what an account finalized of a type, whatever became of it since. */
export const finalizedName = remembered((type: string, account: string) => `finalized:${type},${account}`);
