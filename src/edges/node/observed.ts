import { figures } from '../../kit/figures.ts';
import type { Figures, Finding, Observed } from '../../kit/observed.ts';
import type { Cascade } from './cascade/cascade.ts';
import type { TaskService } from './cascade/tasks.ts';
import type { ScrubState } from './storage/scrub-state.ts';
import type { Diagnostics } from './status/diagnostics.ts';

/** How a node is, as plain data: one in a child process sends it over a channel. */
export type NodeReport = Readonly<{
  peers: number;
  files: number;
  /** Pieces of its files that do not lie here. */
  lackingPieces: number;
  /** Complete files that no other node was seen to hold, where the chain lists another active one. */
  singleCopies: number;
  /** How the last reading of all its pieces ended; undefined before there was one. */
  scrub: ScrubState | undefined;
  storedBytes: number;
  bans: number;
  /** Number of uploads and downloads under way. */
  tasks: Readonly<Record<TaskService, number>>;
  /** Calls of peers since its start. */
  calls: readonly Readonly<{ handler: string; outcome: string; count: number }>[];
  /** What does not work, each in a sentence; none of it makes an answer wrong. */
  problems: readonly string[];
}>;

/** A node by its address; without a state it is down for now, as a local one in an outage. */
export type ObservedNode = Readonly<{ node: string; state: NodeReport | undefined }>;

/** The state of a node; `isChainRead` is whether the last read of its position on the chain succeeded. */
export async function stateOf(cascade: Cascade | undefined, isChainRead: boolean): Promise<NodeReport> {
  const problems = isChainRead ? [] : ['It cannot read its place on the chain; its rank is shown as 0.'];
  if (cascade?.isLogTold() === false) problems.push('The log was not told yet what it holds and whom it has banned.');
  const singleCopies = cascade?.peers.copies.singles() ?? 0;
  if (singleCopies > 0) problems.push(`No other node holds a copy of ${singleCopies} of its files.`);
  const running = cascade?.tasks.running() ?? [];
  const runs = (service: TaskService): number => running.find((one) => one.serviceName === service)?.taskCount ?? 0;
  return {
    peers: cascade?.peers.connected().length ?? 0,
    files: cascade?.storage.index.completeFiles() ?? 0,
    singleCopies,
    lackingPieces: cascade?.storage.index.lackingCount() ?? 0,
    scrub: cascade?.scrub.states().last,
    storedBytes: cascade?.storage.used() ?? 0,
    bans: cascade?.peers.bans.all().length ?? 0,
    tasks: { 'cascade.upload': runs('cascade.upload'), 'cascade.download': runs('cascade.download') },
    calls: cascade ? callsOf(cascade.diagnostics) : [],
    problems,
  };
}

const outcomes = ['success', 'failure', 'timeout'] as const;

function callsOf({ handlers }: Diagnostics): NodeReport['calls'] {
  return Object.entries(handlers()).flatMap(([handler, counts]) =>
    outcomes.map((outcome) => ({ handler, outcome, count: Number(counts[outcome]) })),
  );
}

/** Checks and gauges of nodes: each fault is a warning; `look` fails where their state is unknown. */
export function observeNodes(check: () => Promise<readonly ObservedNode[]>): Observed {
  const find = async () => {
    try {
      return { warnings: (await check()).flatMap(warningsOf) };
    } catch {
      // The log holds the messages of the local nodes' process; it is started again.
      return { warnings: [{ component: 'SuperNodes', message: 'Their process does not answer.' }] };
    }
  };
  return { checks: [{ look: find }], gauges: [figuresOf(check)] };
}

function warningsOf({ node, state }: ObservedNode): Finding[] {
  return (state?.problems ?? []).map((message) => ({ component: `SuperNode ${node}`, message }));
}

function figuresOf(inspection: () => Promise<readonly ObservedNode[]>): Figures {
  return figures(
    (gauge) => ({
      up: gauge('node_up', 'Whether a SuperNode of this process runs', 'node'),
      peers: gauge('node_peers', 'Other nodes that a SuperNode is connected with', 'node'),
      files: gauge('node_files', 'Files of which a SuperNode holds all pieces', 'node'),
      bytes: gauge('node_stored_bytes', 'Bytes of pieces, unfinished files and the trash at a SuperNode', 'node'),
      lacking: gauge('node_lacking_pieces', 'Pieces of its files that a SuperNode does not hold', 'node'),
      singles: gauge('node_single_copies', 'Files of a SuperNode that no other node was seen to hold', 'node'),
      scrubbed: gauge('node_scrubbed_timestamp_seconds', 'When a SuperNode last ended reading all its pieces', 'node'),
      scrubs: gauge('node_scrubbed_pieces', 'Pieces of the last reading, by outcome', 'node', 'outcome'),
      bans: gauge('node_bans', 'Peers that a SuperNode has banned', 'node'),
      tasks: gauge('node_tasks', 'Uploads and downloads under way at a SuperNode', 'node', 'service'),
      calls: gauge('node_peer_calls', 'Calls of peers since the start of a SuperNode', 'node', 'handler', 'outcome'),
    }),
    inspection,
    ({ up, peers, files, bytes, lacking, singles, scrubbed, scrubs, bans, tasks, calls }, seen = []) => {
      for (const { node, state } of seen) {
        up.set({ node }, Number(state !== undefined));
        if (!state) continue;
        peers.set({ node }, state.peers);
        files.set({ node }, state.files);
        bytes.set({ node }, state.storedBytes);
        lacking.set({ node }, state.lackingPieces);
        singles.set({ node }, state.singleCopies);
        setScrub({ scrubbed, scrubs }, node, state.scrub);
        bans.set({ node }, state.bans);
        for (const [service, count] of Object.entries(state.tasks)) tasks.set({ node, service }, count);
        for (const { handler, outcome, count } of state.calls) calls.set({ node, handler, outcome }, count);
      }
    },
  );
}

type Settable = Readonly<{ set: (labels: Readonly<Record<string, string>>, value: number) => void }>;

/** A node that has not read all its pieces yet shows no such figures. */
function setScrub(
  { scrubbed, scrubs }: Readonly<{ scrubbed: Settable; scrubs: Settable }>,
  node: string,
  scrub: ScrubState | undefined,
): void {
  if (scrub?.finishedAt === undefined) return;
  scrubbed.set({ node }, Date.parse(scrub.finishedAt) / 1000);
  scrubs.set({ node, outcome: 'sound' }, scrub.pieces - scrub.damaged);
  scrubs.set({ node, outcome: 'mended' }, scrub.mended);
  scrubs.set({ node, outcome: 'damaged' }, scrub.damaged - scrub.mended);
}
