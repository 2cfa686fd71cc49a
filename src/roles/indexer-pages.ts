import type { ChainClient } from '../edges/chain/rest/client.ts';
import { runQuery } from '../edges/bus.ts';
import { signedItems } from '../edges/evm/contracts/items.ts';
import { createChainActivity } from '../edges/indexer/pages/chain-activity.ts';
import { createLocalReads } from '../edges/indexer/pages/local-reads.ts';
import type { About, ModelStates, PageSources } from '../edges/indexer/pages/pages.ts';
import { archiveStateOf } from '../engine/archive/observed.ts';
import { FollowedChain } from '../projections/rounds/queries.ts';
import { type RoleContext, urlOf } from './role.ts';

/**
 * The sources of the explorer's pages; `chain` is that of the local network, with whose address every reader is served,
 * or undefined: another address may hold a key.
 */
export function pageSources(
  context: RoleContext,
  chain: Readonly<{ url: string; client: ChainClient }> | undefined,
): PageSources {
  const partAt = (name: string) => () => urlOf(context.running, name);
  return {
    about: () => aboutOf(context, chain?.url ?? null),
    models: () => modelStates(context),
    activity: chain && createChainActivity(chain.client),
    local: chain && createLocalReads({ chain: chain.url, evm: partAt('json-rpc'), gateway: partAt('gateway') }),
    contracts: signedItems(),
  };
}

async function aboutOf({ network, nats, running, reader }: RoleContext, chainUrl: string | null): Promise<About> {
  const chain = await reader.read((reading) => runQuery(reading, new FollowedChain({}))).catch(() => null);
  const isOpen = nats.user !== undefined;
  return {
    network,
    chain,
    nats: isOpen ? nats.url : null,
    natsWebSocket: isOpen ? (nats.wsUrl ?? null) : null,
    chainUrl,
    gatewayUrl: chainUrl === null ? null : (urlOf(running, 'gateway') ?? null),
    hasEvm: chainUrl !== null && urlOf(running, 'json-rpc') !== undefined,
  };
}

/** The state of each read model, and what the archive holds of the log. */
async function modelStates({ reader, lag, pools, network }: RoleContext): Promise<ModelStates> {
  const [generations, archive] = await Promise.all([reader.generations(), archiveStateOf(pools, network)()]);
  const heads = lag.heads();
  return {
    projections: generations.map((one) => ({
      projection: one.projection,
      generation: one.generation,
      version: one.version,
      status: one.status,
      stream: one.stream,
      position: one.position,
      behind: Math.max(0, (heads[one.stream]?.lastSequence ?? one.position) - one.position),
      lag_ms: Math.round(lag.lagMs(one.stream, one.position)),
      stopped_at: one.stoppedAt,
      stopped_reason: one.stoppedReason,
      paused_at: one.pausedAt,
    })),
    archive: archive.standings.map(({ stream, position, scrubbedAt, findings, repairedAt }) => ({
      stream,
      position,
      compared_at: scrubbedAt,
      findings,
      repaired_at: repairedAt,
    })),
    losses: archive.losses.map(({ stream, first, last, reason }) => ({ stream, first, last, reason })),
  };
}
