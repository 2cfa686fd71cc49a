import { handle } from '../../src/commands/handle.ts';
import { probing, type RecordProbe } from '../../src/commands/probing.ts';
import { parseStatus } from '../../src/edges/indexer/probe/status.ts';
import type { Log } from '../../src/engine/log/log.ts';
import answers from '../fixtures/node-status/answers.json' with { type: 'json' };

const statuses = ['status-p2p-snake', 'during-upload-status-p2p', 'peer-127.0.1.45-status-p2p'] as const;

/**
 * Records that three of the listed SuperNodes passed a probe, with figures that real nodes gave, and that one of them
 * failed later.
 */
export async function recordProbes(log: Log): Promise<void> {
  const nodes = [...(await log.lastOfAll('node')).keys()].toSorted();
  const passed = statuses.map((name, index) => probeOf(nodes[index] ?? '', name));
  await record(log, passed);
  await record(log, passed.slice(0, 1).map(failed));
}

async function record(log: Log, probes: readonly RecordProbe[]): Promise<void> {
  const at = new Date().toISOString();
  await handle(log, probing, new Map(probes.map((probe) => [probe.node, { ...probe, at }])), { at });
}

function probeOf(node: string, name: (typeof statuses)[number]): RecordProbe {
  const status = parseStatus(JSON.parse(answers[name].body));
  if (!status) throw new Error(`${name} is no status`);
  return {
    node,
    at: '',
    ports: portsAs('open'),
    tookMs: 12,
    statusAnswer: 'ok',
    figures: status.figures,
    reported: ['cascade', 'sense'],
  };
}

function failed({ node, at, tookMs }: RecordProbe): RecordProbe {
  return { node, at, tookMs, ports: portsAs('refused'), statusAnswer: 'not_asked', reported: [] };
}

function portsAs(outcome: 'open' | 'refused'): RecordProbe['ports'] {
  return [4444, 4445, 8002].map((port) => ({ port, outcome }));
}
