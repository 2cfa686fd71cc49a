import { Presets, SingleBar } from 'cli-progress';
import prettyMs from 'pretty-ms';
import { AppError } from '../kit/errors.ts';
import { type AnyProjection, projections } from '../projections/all.ts';
import { configFromEnvironment } from '../config.ts';
import { dropPrevious, switchBack } from '../engine/models/build/switch.ts';
import { rebuild } from '../engine/models/build/rebuild.ts';
import { type AdminClient, findAdmin, haveDone, recorded } from './admin-client.ts';
import { type Stores, withStores } from './stores.ts';
import { print } from './output.ts';

/** `back` switches to the previous generation instead of building one; `dropPrevious` drops that. */
type ReplayOptions = Readonly<{ json: boolean; back?: boolean; dropPrevious?: boolean }>;

/**
 * `annals replay <projection|all>`: rebuilds from the log beside the live generation, compares with an independent
 * fold, then switches readers over; or switches back to the generation before, which stays until the next rebuild or
 * until it is dropped.
 *
 * A rebuild runs at idle priority, behind readers on the same machine (`Stores.giveWay`).
 */
export async function replay(name: string, options: ReplayOptions): Promise<void> {
  const wanted = projections.filter((projection) => name === 'all' || projection.name === name);
  if (wanted.length === 0)
    throw new AppError(
      'INVALID_ARGUMENT',
      `There is no projection ${name}: ${projections.map((one) => one.name).join(', ')}, or all`,
    );
  if (options.back && options.dropPrevious)
    throw new AppError('INVALID_ARGUMENT', 'Either --back or --drop-previous: what was dropped cannot be gone back to');
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const run = verbOf(options);
  const config = configFromEnvironment();
  await withStores(config, 'replay', async (stores) => {
    const admin = await findAdmin(stores.instance, config);
    const refused: AppError[] = [];
    if (run === buildOne) await stores.giveWay();
    for (const projection of wanted) {
      try {
        await run(stores, { admin, projection, json: options.json, signal: stop.signal });
      } catch (caught) {
        if (!(caught instanceof AppError) || stop.signal.aborted) throw caught;
        refused.push(caught);
      }
    }
    refuse(refused);
  });
}

/** One read model that is refused does not hold back the others. */
function refuse(refused: readonly AppError[]): void {
  const [first, ...others] = refused;
  if (!first) return;
  if (others.length === 0) throw first;
  throw new AppError(first.code, refused.map(({ message }) => message).join('\n'), { cause: first });
}

type Run = Readonly<{ admin: AdminClient | undefined; projection: AnyProjection; json: boolean; signal: AbortSignal }>;

function verbOf({ back, dropPrevious: drop }: ReplayOptions): (stores: Stores, run: Run) => Promise<void> {
  if (back) return goBack;
  return drop ? dropOne : buildOne;
}

/** In this process, which gives way; the instance records it. */
async function buildOne({ log, pools, network }: Stores, { admin, projection, json, signal }: Run): Promise<void> {
  const bar = json || !process.stderr.isTTY ? undefined : progressBar(projection.name);
  const startedAt = performance.now();
  const work = (ending: AbortSignal) =>
    rebuild({
      pools,
      source: log,
      projection,
      network,
      signal: ending,
      onProgress: ({ done: facts, total, perSecond }) => {
        bar?.setTotal(Math.max(total, facts));
        bar?.update(facts, { rate: Math.round(perSecond) });
      },
    });
  const done = await recorded(admin, { act: 'rebuild', target: projection.name }, { signal, work }).finally(() =>
    bar?.stop(),
  );
  const ms = Math.round(performance.now() - startedAt);
  const rate = Math.round((done.facts / Math.max(ms, 1)) * 1000);
  print(
    { projection: projection.name, facts: done.facts, generation: done.generation, ms, perSecond: rate },
    {
      json,
      human: () =>
        `${projection.name}: ${done.facts} facts in ${prettyMs(ms)} (${rate}/s), equal to an independent fold, generation ${done.generation} is live`,
    },
  );
}

/** The instance does it; without one that answers, this process does. */
async function goBack({ log, pools, network }: Stores, { admin, projection, json, signal }: Run): Promise<void> {
  const { generation, facts } = admin
    ? await haveDone(admin, `projections/${projection.name}/back`, signal)
    : await switchBack({ pools, source: log, projection, network, signal });
  print(
    { projection: projection.name, generation, facts },
    {
      json,
      human: () =>
        `${projection.name}: generation ${String(generation)} is live again, ${String(facts)} facts later; --back undoes it`,
    },
  );
}

async function dropOne({ pools, network }: Stores, { admin, projection, json, signal }: Run): Promise<void> {
  const { generation } = admin
    ? await haveDone(admin, `projections/${projection.name}/drop`, signal)
    : await dropPrevious({ pools, network, signal }, projection.name);
  print(
    { projection: projection.name, dropped: generation },
    { json, human: () => `${projection.name}: generation ${String(generation)} is dropped` },
  );
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
