import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { KnownTransfer, TransferStep } from '../../../commands/transfers/steps.ts';

/** The metrics of a gateway's transfers, at `/metrics`. */
export type TransferMetrics = Readonly<{
  registry: Registry;
  /** Receives the steps of a task as they are written; only its end counts. */
  onSteps: (known: KnownTransfer, steps: readonly TransferStep[]) => void;
}>;

const directions = ['upload', 'download'] as const;
const outcomes = { 'sdk:completed': 'completed', 'sdk:failed': 'failed' } as const;
const bucketsSeconds = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200];

/** Counts transfers from now on; `running` returns how many are under way here. */
export function createTransferMetrics(running: () => number): TransferMetrics {
  const registry = new Registry();
  const registers = [registry];
  const inFlight: Gauge = new Gauge({
    name: 'annals_transfers_running',
    help: 'Uploads and downloads that this gateway carries out now',
    registers,
    collect: () => inFlight.set(running()),
  });
  const ended = new Counter({
    name: 'annals_transfers_ended_total',
    help: 'Uploads and downloads that ended here, by how',
    labelNames: ['direction', 'outcome'],
    registers,
  });
  const took = new Histogram({
    name: 'annals_transfer_duration_seconds',
    help: 'Time from the request to the end of uploads and downloads that completed here',
    labelNames: ['direction'],
    buckets: bucketsSeconds,
    registers,
  });
  for (const direction of directions) {
    took.zero({ direction });
    for (const outcome of Object.values(outcomes)) ended.inc({ direction, outcome }, 0);
  }
  return {
    registry,
    onSteps: ({ direction, beganAt }, steps) => {
      for (const { status } of steps) {
        const outcome = status === 'sdk:completed' || status === 'sdk:failed' ? outcomes[status] : undefined;
        if (outcome === undefined) continue;
        ended.inc({ direction, outcome });
        if (outcome === 'completed') took.observe({ direction }, (Date.now() - Date.parse(beganAt)) / 1000);
      }
    },
  };
}
