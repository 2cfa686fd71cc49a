import { createTurns, type Turns } from '../../../kit/turns.ts';

/** Transfers under way, as the status of a node shows them. */
export type Tasks = Readonly<{
  /**
   * Counts a task until the returned function is called; undefined where the same one is under way and may be only
   * once.
   */
  begin: (service: TaskService, actionId: string, options?: { once: boolean }) => (() => void) | undefined;
  running: () => { serviceName: string; taskIds: string[]; taskCount: number }[];
}>;

/** The real network's names of the two kinds. */
export type TaskService = (typeof services)[number];

const services = ['cascade.upload', 'cascade.download'] as const;

/** Counts tasks; none is under way at first. */
export function createTasks(): Tasks {
  const tasks = new Set<Readonly<{ service: TaskService; actionId: string }>>();
  const of = (service: TaskService): string[] =>
    [...tasks].filter((task) => task.service === service).map(({ actionId }) => actionId);
  return {
    begin: (service, actionId, { once } = { once: false }) => {
      if (once && of(service).includes(actionId)) return undefined;
      const task = { service, actionId };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    running: () =>
      (tasks.size === 0 ? [] : services)
        .map((service) => ({ serviceName: service, taskIds: of(service) }))
        .filter(({ taskIds }) => taskIds.length > 0)
        .map((running) => ({ ...running, taskCount: running.taskIds.length })),
  };
}

/** Turns of callers: of one address and in all so many calls of each kind run at once. */
export type CallTurns = Readonly<{ uploads: Turns; downloads: Turns }>;

/** A call holds some MiB of memory at most: of its message, of pieces on their way to the disk or to the client. */
const callsAtOnce = {
  uploads: { most: 64, mostPerAddress: 8 },
  downloads: { most: 32, mostPerAddress: 8 },
} as const;

/** Nobody has a turn at first; proxies stand for many callers. */
export function createCallTurns(trustedProxies: readonly string[] = []): CallTurns {
  const { uploads, downloads } = callsAtOnce;
  return {
    uploads: createTurns({ what: 'uploads', ...uploads, trustedProxies }),
    downloads: createTurns({ what: 'downloads', ...downloads, trustedProxies }),
  };
}
