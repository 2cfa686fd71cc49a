import type { Static } from 'typebox';
import type { ArchiveState } from '../../engine/archive/observed.ts';
import type { Checkpoint } from '../../engine/archive/proof/checkpoints.ts';
import type { Heads } from '../../engine/log/head.ts';
import type { LagTracker } from '../../engine/log/lag.ts';
import type { HeldLease } from '../../engine/log/leases.ts';
import type { Generation } from '../../engine/models/engine/generations.ts';
import { isArchived, isProven, streams, streamTable } from '../../events/streams.ts';
import { projectionNames } from '../../projections/projection.ts';
import type { RoundRow } from '../../projections/tables.ts';
import type { lists } from './schemas.ts';

type Lists = { readonly [Name in keyof typeof lists]: Static<(typeof lists)[Name]['ref']> };

/** From how far on a read model counts as behind. */
const behindFromMs = 1000;

/** How positions compare with the log: its heads, and how long ago it went beyond a position. */
export type LogEnds = Readonly<{ heads: Heads; lagMs: LagTracker['lagMs'] }>;

/** The state of every projection; of one that no generation of is live, as it is built. */
export function projectionsView(generations: readonly Generation[], log: LogEnds): Lists['projections'] {
  return {
    projections: projectionNames.map((name) => {
      const own = generations.filter(({ projection }) => projection === name);
      const live = own.find(({ status }) => status === 'live');
      const built = own.findLast(({ status }) => status === 'building');
      const lag = live && lagOf(live.stream, live.position, log);
      return {
        name,
        status: statusOf(live, built, lag),
        generation: live?.generation ?? null,
        version: live?.version ?? null,
        stream: live?.stream ?? built?.stream ?? null,
        position: live?.position ?? null,
        lag_events: lag?.events ?? null,
        lag_seconds: lag?.seconds ?? null,
        stopped_at: live?.stoppedAt ?? null,
        stopped_reason: live?.stoppedReason ?? null,
        paused_at: live?.pausedAt ?? null,
        rebuild: built
          ? { generation: built.generation, position: built.position, stopped_reason: built.stoppedReason }
          : null,
      };
    }),
  };
}

type Lag = Readonly<{ events: number; seconds: number }>;

function lagOf(stream: Generation['stream'], position: number, { heads, lagMs }: LogEnds): Lag {
  const events = Math.max(0, (heads[stream]?.lastSequence ?? position) - position);
  return { events, seconds: events === 0 ? 0 : lagMs(stream, position) / 1000 };
}

function statusOf(live: Generation | undefined, built: Generation | undefined, lag: Lag | undefined) {
  if (!live || !lag) return built?.stoppedReason ? 'stopped' : 'starting';
  if (live.stoppedReason !== null) return 'stopped';
  if (live.pausedAt !== null) return 'paused';
  if (built && built.stoppedReason === null) return 'rebuilding';
  return lag.seconds * 1000 >= behindFromMs ? 'catching_up' : 'live';
}

/** The state of every stream and of its archive. */
export function streamsView({ standings }: Pick<ArchiveState, 'standings'>, log: LogEnds): Lists['streams'] {
  return {
    streams: streams.flatMap((name) => {
      const head = log.heads[name];
      if (!head) return [];
      const archive = isArchived(streamTable[name]) ? standings.find(({ stream }) => stream === name) : undefined;
      const lag = isArchived(streamTable[name]) ? lagOf(name, archive?.position ?? 0, log) : undefined;
      return [
        {
          name,
          status: lag ? soundness(archive) : 'unarchived',
          first_sequence: head.firstSequence,
          last_sequence: head.lastSequence,
          written_at: head.lastSequence === 0 ? null : head.lastTime,
          incarnation: head.incarnation,
          archived: lag ? (archive?.position ?? 0) : null,
          lag_events: lag?.events ?? null,
          lag_seconds: lag?.seconds ?? null,
          compared_at: archive?.scrubbedAt ?? null,
          findings: [...(archive?.findings ?? [])],
          repaired_at: archive?.repairedAt ?? null,
          repaired: [...(archive?.repaired ?? [])],
        },
      ];
    }),
  };
}

function soundness(archive: ArchiveState['standings'][number] | undefined) {
  if (archive && archive.findings.length > 0) return 'damaged';
  return archive?.scrubbedAt ? 'sound' : 'uncompared';
}

/** The state of every source of sync. */
export function sourcesView(rounds: readonly RoundRow[], now: number): Lists['sources'] {
  return {
    sources: rounds
      .filter(({ source }) => source !== 'chain')
      .map((one) => ({
        name: one.source,
        status: one.failed_at !== null ? 'failing' : one.completed_at !== null ? 'following' : 'waiting',
        chain_id: one.chain_id,
        completed_at: one.completed_at,
        completed_height: one.completed_height,
        lag_seconds: one.completed_at === null ? null : Math.max(0, now - Date.parse(one.completed_at)) / 1000,
        requests: one.requests,
        facts: one.facts,
        failed_at: one.failed_at,
        failed_reason: one.failed_reason,
        failed_message: one.failed_message,
      })),
  };
}

/** The leases that are held. */
export function leasesView(held: readonly HeldLease[]): Lists['leases'] {
  return { leases: held.map(({ name, holder, renewedAt }) => ({ name, holder, renewed_at: renewedAt })) };
}

/** Checkpoints that were signed last, and why a log is not signed. */
export type SignedLogs = Readonly<{
  checkpoints: readonly Checkpoint[];
  refusals: readonly Readonly<{ stream: string; reason: string }>[];
}>;

/** How far every proven log is signed. */
export function logsView({ checkpoints, refusals }: SignedLogs, { heads }: LogEnds): Lists['logs'] {
  return {
    logs: streams
      .filter((stream) => isProven(streamTable[stream]))
      .map((stream) => {
        const last = checkpoints.find((one) => one.stream === stream);
        const reason = refusals.find((one) => one.stream === stream)?.reason ?? null;
        const head = heads[stream]?.lastSequence ?? 0;
        return {
          stream,
          status: reason !== null ? 'refused' : last ? 'signed' : 'unsigned',
          public: streamTable[stream].proven === 'public',
          origin: last?.origin ?? null,
          vkey: last?.vkey ?? null,
          size: last?.size ?? null,
          signed_at: last?.signedAt ?? null,
          lag_events: last ? Math.max(0, head - last.size) : null,
          refused_reason: reason,
        };
      }),
  };
}

/** The events that neither the log nor the archive has. */
export function lossesView({ losses }: Pick<ArchiveState, 'losses'>): Lists['losses'] {
  return {
    losses: losses.map(({ stream, first, last, reason, ids }) => ({ stream, first, last, reason, ids: [...ids] })),
  };
}
