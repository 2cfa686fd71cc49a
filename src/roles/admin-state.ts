import type { AdminState } from '../edges/admin/admin-state.ts';
import { archiveStateOf } from '../engine/archive/observed.ts';
import { createCheckpoints } from '../engine/archive/proof/checkpoints.ts';
import { createProvenLogs } from '../engine/archive/proof/serving.ts';
import { metaSchema } from '../engine/models/engine/generations.ts';
import { throughPool } from '../engine/models/pool.ts';
import { rounds } from '../projections/rounds/rounds.ts';
import type { RoleContext } from './role.ts';

/** What the administration shows of the stores of a process. */
export function stateOf({ network, broker, pools, reader, lag, logger, running }: RoleContext): AdminState {
  const checkpoints = createCheckpoints(throughPool(pools.archive), metaSchema(network));
  return {
    generations: reader.generations,
    heads: broker.heads,
    lag,
    rounds: () => reader.read(rounds),
    archive: archiveStateOf(pools, network),
    logs: async () => {
      const [last, refusals] = await Promise.all([checkpoints.last(), checkpoints.refusals()]);
      return { checkpoints: last, refusals };
    },
    leases: broker.leases,
    proven: createProvenLogs({ pools, network }),
    nodes: { urls: () => Object.assign({}, ...running.map(({ urls }) => urls)), read: reader.read },
    tail: { log: broker.log, network, logger },
  };
}
