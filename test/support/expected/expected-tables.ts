import type { Recorded } from '../../../src/commands/ports.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import type { ProjectionName } from '../../../src/projections/projection.ts';
import { expectedActions } from './expected-actions.ts';
import { expectedBlocks } from './expected-blocks.ts';
import { expectedUptime } from './expected-uptime.ts';
import { type Cells, dataOf, lastOf, type Lives, livesOf, positionOf } from './lives.ts';

/**
 * What each projection's tables must hold after the facts of its stream: a fold that shares nothing with the engine or
 * the projections, made from each entity's life as a whole. Cells that are null may be left out.
 */
export const expectedTables: Readonly<
  Record<ProjectionName, (facts: readonly Recorded[]) => Readonly<Record<string, Cells[]>>>
> = {
  actions: (facts) => expectedActions(livesOf(facts)),
  supernodes: (facts) => {
    const lives = livesOf(facts.filter(({ fact }) => fact.type.startsWith('SuperNode')));
    const rows = listedIn(lives, nodeCells);
    return {
      supernodes: rows,
      supernodes_past: supersededIn(lives, nodeCells),
      supernode_accounts: rows.flatMap(periodsOf),
    };
  },
  validators: (facts) => {
    const lives = livesOf(facts.filter(({ fact }) => fact.type.startsWith('Validator')));
    const cells = ({ moniker, status, jailed }: Cells): Cells => ({ moniker, status, jailed });
    return { validators: listedIn(lives, cells), validators_past: supersededIn(lives, cells) };
  },
  availability: (facts) => ({ availability: [...livesOf(facts)].map(probed) }),
  rounds: (facts) => ({ rounds: [...livesOf(facts)].map(sourceRow) }),
  transfers: (facts) => ({ transfers: transfersOf(facts) }),
  blocks: expectedBlocks,
  stored_files: (facts) => ({ stored_files: [...livesOf(facts)].map(lastStored) }),
  ...expectedUptime,
  peer_bans: (facts) => ({ peer_bans: [...livesOf(facts)].map(lastStanding) }),
};

type NodeRecord = Fact<'SuperNodeListed'>['data']['record'];

/** The last record of everything listed, and a mark where the last fact says that it has left. */
function listedIn(lives: Lives, cells: (record: never) => Cells): Cells[] {
  return [...lives].map(([id, life]) => {
    const { type, data } = lastOf(life);
    const common = { id, position: positionOf(life), removed: type.endsWith('Removed') };
    return common.removed ? common : { ...cells((data as unknown as { record: never }).record), ...common };
  });
}

/** The records that were listed until another fact. */
function supersededIn(lives: Lives, cells: (record: never) => Cells): Cells[] {
  return [...lives].flatMap(([id, life]) =>
    life.slice(1).flatMap(({ sequence: until }, at) => {
      const before = new Map([[id, life.slice(0, at + 1)]]);
      return listedIn(before, cells).flatMap(({ removed, ...row }) => (removed === true ? [] : [{ ...row, until }]));
    }),
  );
}

function nodeCells(record: NodeRecord): Cells {
  const { stateHeight, stateReason, registeredHeight, p2pPort, ...same } = record;
  return {
    ...same,
    state_height: stateHeight,
    state_reason: stateReason,
    registered_height: registeredHeight,
    p2p_port: p2pPort,
  };
}

/** On a chain that states a beginning for every account, the last of a height counts, and none where there is none. */
function periodsOf({ id, accounts }: Cells): Cells[] {
  const held = (accounts ?? []) as NodeRecord['accounts'];
  return held.flatMap(({ account, height }, at) => {
    const until = held[at + 1]?.height;
    const from = at === 0 ? 0 : height;
    const period = { operator: id, account, from_height: from, until_height: until, stated_height: height };
    return until === from ? [] : [period];
  });
}

function probed([id, life]: readonly [string, readonly Recorded[]]): Cells {
  const { type, data } = lastOf(life) as Fact<'ProbeFailed' | 'ProbeSucceeded'>;
  const { known } = data;
  const { figures } = known;
  return {
    id,
    available: type === 'ProbeSucceeded',
    failed_probe_counter: known.consecutiveFailures,
    last_seen_at: known.lastSeenAt,
    probed_at: data.at,
    ports: data.ports,
    status_answer: type === 'ProbeFailed' ? data.statusAnswer : 'ok',
    services: known.services,
    version: figures?.version || null,
    peer_count: figures?.peerCount,
    cpu_cores: figures?.cpuCores,
    cpu_usage_percent: figures?.cpuUsagePercent,
    memory_total_gb: figures?.memoryTotalGb,
    memory_used_gb: figures?.memoryUsedGb,
    storage_total_gb: figures?.storageTotalGb,
    storage_used_gb: figures?.storageUsedGb,
    uptime_seconds: figures?.uptimeSeconds,
    position: positionOf(life),
    removed: false,
  };
}

function sourceRow([source, life]: readonly [string, readonly Recorded[]]): Cells {
  const common = { source, position: positionOf(life), removed: false, skipped: [] };
  const [identified] = dataOf(life, 'ChainIdentified');
  if (identified) return { ...common, chain_id: identified.chainId, cursor: 0 };
  const known = life.map(({ fact }) => (fact as Fact<'SyncRoundCompleted'>).data.known);
  const completed = dataOf(life, 'SyncRoundCompleted').at(-1);
  const failed = dataOf(life, 'SyncRoundFailed').at(-1);
  const since = life.findLastIndex(({ fact }) => fact.type === 'SyncRoundCompleted');
  const stillFailed = life.slice(since + 1).some(({ fact }) => fact.type === 'SyncRoundFailed') ? failed : undefined;
  return {
    ...common,
    chain_id: known.findLast(({ chainId }) => chainId !== '')?.chainId,
    cursor: known.at(-1)?.cursor,
    minimum_version: known.findLast(({ minimumVersion }) => minimumVersion !== undefined)?.minimumVersion,
    completed_at: completed?.at,
    completed_height: completed?.height,
    completed_block_time: completed?.blockTime,
    requests: completed?.requests,
    facts: completed?.facts,
    skipped: completed?.skipped ?? [],
    failed_at: stillFailed?.at,
    failed_reason: stillFailed?.reason,
    failed_message: stillFailed?.message,
    requested_at: known.at(-1)?.request ? dataOf(life, 'SyncRequested').at(-1)?.at : null,
  };
}

/** Uploads and downloads of public files with their last state; states without a request are none. */
function transfersOf(facts: readonly Recorded[]): Cells[] {
  const known = facts.filter(({ fact }) => !fact.type.startsWith('Retrieval'));
  return [...livesOf(known)].flatMap(([task, life]) => {
    const asked = [...dataOf(life, 'UploadRequested'), ...dataOf(life, 'DownloadRequested')].at(0);
    if (!asked) return [];
    const upload = dataOf(life, 'UploadRequested').at(0);
    const { data } = lastOf(life);
    const event = 'event' in data ? data.event : undefined;
    return [
      {
        task,
        direction: upload ? 'upload' : 'download',
        action: asked.action,
        file_name: upload?.fileName ?? null,
        size: upload ? Number(upload.size) : null,
        created_at: asked.at,
        status: event?.status ?? 'sdk:started',
        events: event?.number ?? 0,
        moved_at: event?.at ?? asked.at,
        ended: event ? ['sdk:completed', 'sdk:failed'].includes(event.status) : false,
        store: asked.store,
        position: positionOf(life),
        removed: false,
      },
    ];
  });
}

/** The last fact of a file at a node carries all that its row says. */
function lastStored([file, life]: readonly [string, readonly Recorded[]]): Cells {
  const { node, action, at, known } = lastOf(life).data as Fact<'FileStored'>['data'];
  const { stored, bytes, pieces } = known;
  return { file, node, action, at, stored, bytes: Number(bytes), pieces, position: positionOf(life), removed: false };
}

/** The same of a peer at a node. */
function lastStanding([pair, life]: readonly [string, readonly Recorded[]]): Cells {
  const { node, peer, at, known } = lastOf(life).data as Fact<'PeerBanned'>['data'];
  return { pair, node, peer, at, ...known, position: positionOf(life), removed: false };
}
