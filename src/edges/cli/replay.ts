import { Presets, SingleBar } from 'cli-progress';
import prettyMs from 'pretty-ms';
import { AppError } from '../../commands/errors.ts';
import { projections } from '../../projections/all.ts';
import { configFromEnvironment } from '../config.ts';
import { rebuild } from '../postgres/rebuild.ts';
import { withStores } from '../stores.ts';
import { print } from './output.ts';

/** `annals replay <projection|all>`: rebuilds from the log beside the live generation, then switches readers over. */
export async function replay(name: string, { json }: { json: boolean }): Promise<void> {
  const wanted = projections.filter((projection) => name === 'all' || projection.name === name);
  if (wanted.length === 0)
    throw new AppError(
      'INVALID_ARGUMENT',
      `There is no projection ${name}: ${projections.map((one) => one.name).join(', ')}, or all`,
    );
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  await withStores(configFromEnvironment(), 'replay', async ({ log, pools, network }) => {
    for (const projection of wanted) {
      const bar = json || !process.stderr.isTTY ? undefined : progressBar(projection.name);
      const began = performance.now();
      const done = await rebuild({
        pools,
        source: log,
        projection,
        network,
        signal: stop.signal,
        onProgress: ({ done: facts, total, perSecond }) => {
          bar?.setTotal(Math.max(total, facts));
          bar?.update(facts, { rate: Math.round(perSecond) });
        },
      });
      bar?.stop();
      const ms = Math.round(performance.now() - began);
      const rate = Math.round((done.facts / Math.max(ms, 1)) * 1000);
      print(
        { projection: projection.name, facts: done.facts, generation: done.generation, ms, perSecond: rate },
        {
          json,
          human: () =>
            `${projection.name}: ${done.facts} facts in ${prettyMs(ms)} (${rate}/s), generation ${done.generation} is live`,
        },
      );
    }
  });
}

function progressBar(name: string): SingleBar {
  const bar = new SingleBar(
    {
      format: `${name.padEnd(14)} {bar} {percentage}% {value}/{total} facts, {rate}/s`,
      hideCursor: true,
      stream: process.stderr,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  bar.start(1, 0, { rate: 0 });
  return bar;
}
