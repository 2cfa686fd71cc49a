import { statfs } from 'node:fs/promises';
import os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

/** What a local SuperNode says about itself beside the machine's figures. */
export type NodeIdentity = Readonly<{
  address: string;
  version: string;
  startedAt: number;
  peers: readonly string[];
  variation: number;
}>;

const gib = 1024 ** 3;
const mib = 1024 ** 2;
const sampleMs = 1000;
/** Real nodes report their disk a tenth larger than it is. */
const diskFactor = 1.1;

/**
 * A status as a real SuperNode gives it: of this machine, lightly varied from node to node; takes a second to sample the CPU.
 *
 * Services and rank are unfilled, `network` and `p2p_metrics` only come on request: so real nodes do.
 */
export async function nodeStatus(node: NodeIdentity, withP2p: boolean, signal: AbortSignal): Promise<object> {
  const cpu = await cpuPercent(signal);
  const disk = await statfs('/');
  const total = os.totalmem();
  const free = Math.min(total, os.freemem() * node.variation);
  const real = disk.blocks * disk.bsize;
  const available = Math.round(disk.bavail * disk.bsize * node.variation);
  const shown = Math.round(real * diskFactor);
  const cores = os.cpus().length;
  return {
    version: node.version,
    uptime_seconds: String(Math.round((Date.now() - node.startedAt) / 1000)),
    resources: {
      cpu: { usage_percent: Math.min(100, cpu * node.variation), cores },
      memory: {
        total_gb: total / gib,
        used_gb: (total - free) / gib,
        available_gb: free / gib,
        usage_percent: (100 * (total - free)) / total,
      },
      storage_volumes: [
        {
          path: '/',
          total_bytes: String(shown),
          used_bytes: String(shown - available),
          available_bytes: String(available),
          usage_percent: (100 * (shown - available)) / shown,
        },
      ],
      hardware_summary: `${cores} cores / ${Math.round(total / gib)}GB RAM`,
    },
    running_tasks: [],
    registered_services: [],
    network: withP2p ? { peers_count: node.peers.length, peer_addresses: node.peers } : null,
    rank: 0,
    ip_address: node.address,
    p2p_metrics: withP2p ? p2pMetrics(node, { real, available }) : null,
    lep6_metrics: lep6Metrics,
  };
}

/** What services a real SuperNode lists, pprof left out. */
export const nodeServices = {
  services: [
    { name: 'supernode.SupernodeService', methods: ['GetStatus', 'ListServices'] },
    { name: 'cascade.CascadeService', methods: ['Register', 'Download'] },
  ],
  count: 2,
};

async function cpuPercent(signal: AbortSignal): Promise<number> {
  const before = cpuTimes();
  await pause(sampleMs, undefined, { signal });
  const after = cpuTimes();
  const total = after.total - before.total;
  return total === 0 ? 0 : 100 * (1 - (after.idle - before.idle) / total);
}

function cpuTimes(): { idle: number; total: number } {
  const times = os.cpus().map((cpu) => cpu.times);
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return { idle: sum(times.map(({ idle }) => idle)), total: sum(times.flatMap((time) => Object.values(time))) };
}

function p2pMetrics(node: NodeIdentity, { real, available }: { real: number; available: number }): object {
  return {
    dht_metrics: {
      store_success_recent: [],
      batch_retrieve_recent: [],
      hot_path_banned_skips: '0',
      hot_path_ban_increments: '0',
    },
    network_handle_metrics: {},
    conn_pool_metrics: {
      adds_total: String(node.peers.length),
      capacity: '256',
      evictions_lru_total: '0',
      misses_total: '0',
      open_current: String(node.peers.length),
      pruned_idle_total: '0',
      replacements_total: '0',
      reuse_hits_total: '0',
    },
    ban_list: [],
    database: { p2p_db_size_mb: 0.03125, p2p_db_records_count: '0' },
    disk: { all_mb: real / mib, used_mb: (real - available) / mib, free_mb: available / mib },
  };
}

const lep6Metrics = {
  dispatch_results_total: {},
  dispatch_throttled_total: {},
  dispatch_epoch_duration_millis_total: {},
  dispatch_epoch_duration_millis_max: {},
  dispatch_epoch_duration_count: {},
  ticket_discovery_total: {},
  no_ticket_provider_active: '0',
  heal_claims_submitted_total: {},
  heal_claims_reconciled_total: '0',
  heal_verifications_submitted_total: {},
  heal_verifications_already_exists_total: '0',
  heal_finalize_publishes_total: '0',
  heal_finalize_cleanups_total: {},
  self_healing_pending_claims: '0',
  self_healing_staging_bytes: '0',
  recheck_candidates_found_total: '0',
  recheck_evidence_submitted_total: {},
  recheck_evidence_already_submitted_total: '0',
  recheck_execution_failures_total: {},
  recheck_pending_candidates: '0',
};
