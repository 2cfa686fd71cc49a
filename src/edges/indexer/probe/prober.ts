import { wait } from '../../../kit/wait.ts';
import { toAppError } from '../../../kit/errors.ts';
import type { Logger } from '../../../kit/logger.ts';
import { span } from '../../../kit/tracing/tracing.ts';
import { type Dial, dialPort, SocketBudget, withSockets } from './dial.ts';
import { httpPort, probeNode, probePorts, type ProbeLimits } from './probe.ts';
import type { ProbeReason, ProbeRecorder } from './recorder.ts';
import { isServicesDue } from './status.ts';
import { hostKey, type TargetOptions } from '../../chain/rest/target.ts';

/** Some nodes to probe, and how. */
type Sweep = Readonly<{
  nodes: ReadonlyMap<string, string>;
  reason: ProbeReason;
  /** The time over which the starts of the probes are spread. */
  spreadMs: number;
  /** Whether a node that is being probed at this moment is probed once more afterwards; else that probe will do. */
  isFresh: boolean;
}>;

/** The parts that a prober works with. */
export type ProberOptions = TargetOptions &
  Readonly<{
    recorder: ProbeRecorder;
    logger: Logger;
    signal: AbortSignal;
    /** The time of the last request for each node's list of services; this module keeps it up to date. */
    servicesAskedAt: Map<string, string>;
    dial?: Dial;
    limits?: ProbeLimits | undefined;
    /** Seconds between two sweeps, which each probe states. */
    everySeconds?: number | undefined;
  }>;

/** The probe of a host: for which nodes its outcome is recorded, and why. */
type Running = { readonly reasons: Map<string, ProbeReason>; hasBegun: boolean; done: Promise<void> };

const maxSockets = 1_024;

/**
 * Makes the function that probes nodes: each at most once at a time, all together with no more sockets than allowed.
 *
 * Nodes that share a host share one probe, so that many records cannot aim us at one address; one that is listed while
 * its host is probed, or about to be, shares that probe as well. Resolves when the sweep's probes have ended; never
 * fails.
 */
export function createProber(options: ProberOptions): (sweep: Sweep) => Promise<void> {
  const { recorder, logger, signal, servicesAskedAt, dial = dialPort, everySeconds, ...how } = options;
  const budget = new SocketBudget(maxSockets);
  const sockets = { count: probePorts.length, asked: httpPort, dial };
  const running = new Map<string, Running>();

  const probeHost = async (reasons: ReadonlyMap<string, ProbeReason>, address: string, within: Dial) => {
    const isDue = [...reasons.keys()].some((node) => isServicesDue(servicesAskedAt.get(node), Date.now()));
    const probed = await probeNode(address, { ...how, dial: within, signal, isServicesDue: isDue });
    for (const [node, reason] of reasons) {
      if (probed.listed) servicesAskedAt.set(node, probed.listed.at);
      recorder.add({ node, ...probed, everySeconds }, reason);
    }
  };

  const probeOnce = async (host: string, nodes: readonly string[], address: string, sweep: Sweep): Promise<void> => {
    const other = running.get(host);
    if (other && !(sweep.isFresh && other.hasBegun)) {
      for (const node of nodes) if (!other.reasons.get(node)?.causation) other.reasons.set(node, sweep.reason);
      return other.done;
    }
    const reasons = new Map(nodes.map((node) => [node, sweep.reason]));
    const mine: Running = { reasons, hasBegun: false, done: Promise.resolve() };
    const start = (within: Dial) => {
      mine.hasBegun = true;
      return probeHost(reasons, address, within);
    };
    mine.done = (other?.done ?? wait(Math.random() * sweep.spreadMs, signal))
      .then(() => (signal.aborted ? undefined : withSockets(budget, sockets, start)))
      .catch((caught: unknown) => {
        if (!signal.aborted) logger.warn({ reason: toAppError(caught).message }, 'a node could not be probed');
      });
    running.set(host, mine);
    await mine.done;
    if (running.get(host) === mine) running.delete(host);
  };

  const probeAll = async (sweep: Sweep): Promise<void> => {
    const startedAt = performance.now();
    const hosts = Map.groupBy(sweep.nodes, ([, address]) => hostKey(address, how));
    const probes = [...hosts].map(([host, members]) =>
      probeOnce(
        host,
        members.map(([node]) => node),
        members[0]?.[1] ?? '',
        sweep,
      ),
    );
    await Promise.all(probes);
    const ms = Math.round(performance.now() - startedAt);
    if (!signal.aborted) logger.debug({ nodes: sweep.nodes.size, hosts: hosts.size, ms }, 'probe sweep done');
  };
  return (sweep) =>
    span('probe round', { parents: [], attributes: { 'annals.nodes': sweep.nodes.size } }, () => probeAll(sweep));
}
