import { Gauge, Registry } from 'prom-client';
import { within } from './wait.ts';
import type { Figures } from './observed.ts';

/** Makes a gauge whose name starts with `annals_`. */
type MakeGauge = <L extends string>(name: string, help: string, ...labels: readonly L[]) => Gauge<L>;

const checkTimeoutMs = 3000;

/**
 * Figures that are read at each scrape, by one call of `look`.
 *
 * `show` sets the gauges, all of them empty before. Where `look` fails or takes too long it receives undefined, so that
 * unknown figures are missing rather than stale.
 *
 * @example
 * figures((gauge) => ({ up: gauge('broker_up', 'Whether the broker answers') }), ask, ({ up }, seen) => up.set(+seen))
 */
export function figures<G extends Readonly<Record<string, Pick<Gauge, 'reset'>>>, Seen>(
  define: (gauge: MakeGauge) => G,
  check: () => Promise<Seen>,
  show: (gauges: G, seen: Seen | undefined) => void,
): Figures {
  const registry = new Registry();
  const gauges = define(
    (name, help, ...labelNames) => new Gauge({ name: `annals_${name}`, help, labelNames, registers: [registry] }),
  );
  return {
    metrics: async () => {
      const [seen] = await Promise.allSettled([within(checkTimeoutMs, check(), 'late')]);
      for (const gauge of Object.values(gauges)) gauge.reset();
      show(gauges, seen.status === 'fulfilled' ? seen.value : undefined);
      return await registry.metrics();
    },
  };
}
