import type { NatsConnection } from '@nats-io/transport-node';
import type { Check } from '../../../kit/observed.ts';
import { announce } from '../../../engine/log/presence.ts';
import { roomCheck } from '../intake/space.ts';
import { resumeTransfers } from '../resume.ts';
import { createAbsence } from './absence.ts';
import { createElsewhere, type Elsewhere } from './elsewhere.ts';
import { followOpenTasks, type OpenTasks } from './open-tasks.ts';
import { createRunner, type Runner, type RunnerOptions } from './runner.ts';

/** The tasks of a gateway: those that it carries out, and those of others as far as they concern it. */
export type GatewayTasks = Readonly<{
  runner: Runner;
  elsewhere: Elsewhere;
  open: OpenTasks;
  checks: readonly Check[];
  /** Settles once nothing runs any more; call it after the signal has aborted. */
  ended: () => Promise<void>;
}>;

/** Options of the tasks; the broker's connection is that of the log. */
export type TasksOptions = Omit<RunnerOptions, 'presence'> &
  Readonly<{
    connection: NatsConnection;
    network: string;
    /** How long this gateway's lease outlives it, and for how long others have to miss it beyond that. */
    presenceTtlMs?: number;
    graceMs?: number;
    /** Whether the gateway resumes tasks that others have left. */
    resumes?: boolean;
  }>;

/** Announces this gateway, follows open tasks, runs its own and resumes those of gateways that are gone. */
export function openGatewayTasks(options: TasksOptions): GatewayTasks {
  const {
    connection,
    network,
    log,
    files,
    nodes,
    logger,
    signal,
    presenceTtlMs: ttlMs,
    graceMs,
    resumes = true,
  } = options;
  const whose = { network, group: 'gateways', serves: files.store, id: files.liveness.id, signal };
  const presence = announce(connection, { ...whose, ttlMs });
  const open = followOpenTasks(log, { logger, signal });
  const absence = createAbsence(presence, { graceMs });
  const runner = createRunner({ ...options, presence });
  const { chain } = nodes;
  const resuming = resumes
    ? resumeTransfers({ log, open, presence, absence, runner, files, chain, logger }, signal)
    : undefined;
  let isRead = false;
  void open.ready.then(() => (isRead = true));
  const message = 'Open transfers are still being read from the log.';
  return {
    runner,
    elsewhere: createElsewhere({ log, open, absence, runner, holder: presence.name }),
    open,
    checks: [
      {
        component: 'transfers',
        look: async () => await Promise.resolve(isRead ? {} : { reasons: [{ component: 'transfers', message }] }),
      },
      roomCheck(files.space),
    ],
    ended: async () => void (await Promise.allSettled([runner.ended(), presence.ended, open.ended, resuming])),
  };
}
