import { setTimeout as pause } from 'node:timers/promises';
import { type Program, runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import { type Context, once } from '../context.ts';
import { milliseconds } from '../rounds.ts';
import type { Figures, Row } from '../row.ts';
import { type Memory, memoryOf } from '../tree.ts';

const clients = 16;
const lookEachMs = 500;
const paths = ['/v1/actions?limit=50', '/v1/actions/stats', '/v1/supernodes/metrics', '/v1/actions/1'];

/** The whole program as `npm start` runs it: the local network with its EVM, storing nodes, gateway and indexer. */
export function rows(context: Context): readonly Row[] {
  const prepared = once(async () => {
    const dataDir = await context.folder('program');
    const program = await start(dataDir);
    await pause(context.size(5_000, 0), undefined, { signal: context.signal });
    await program.stop();
    return dataDir;
  });
  const [idle, loaded] = [watchIdle, watchLoaded].map((watch) =>
    once(async () => within(await prepared(), (program) => watch(context, program))),
  );
  const memory = (name: string, of: keyof Memory, watched = idle): Row => ({
    name,
    unit: 'MB',
    better: 'lower',
    peerName: null,
    target: name === 'memory-idle-shared-pages-once' ? { ours: 650 } : {},
    measure: async () => alone((await watched?.())?.[of] ?? 0),
  });
  return [
    {
      name: 'start-warm',
      unit: 's',
      better: 'lower',
      peerName: null,
      target: { ours: 6 },
      measure: async () => {
        const dataDir = await prepared();
        return context.inTurn('lower', () => untilReady(dataDir));
      },
    },
    memory('memory-idle', 'resident'),
    memory('memory-idle-shared-pages-once', 'once'),
    memory('memory-loaded', 'resident', loaded),
    memory('memory-loaded-shared-pages-once', 'once', loaded),
  ];
}

const alone = (ours: number): Figures => ({ ours, peer: null, ratio: null });

/** Seconds from the start of the process until `/readyz` answers 200. */
async function untilReady(dataDir: string): Promise<number> {
  let program: Program | undefined;
  const ms = await milliseconds(async () => void (program = await start(dataDir)));
  await program?.stop();
  return ms / 1000;
}

async function start(dataDir: string): Promise<Program> {
  const program = await runProgram({ dataDir, network: 'local', nodeArguments: lean });
  try {
    await program.untilReady();
    return program;
  } catch (caught) {
    await program.stop();
    throw caught;
  }
}

async function within<T>(dataDir: string, use: (program: Program) => Promise<T>): Promise<T> {
  const program = await start(dataDir);
  try {
    return await use(program);
  } finally {
    await program.stop();
  }
}

/** The middle one of many looks: what it does at intervals comes and goes. */
async function watchIdle(context: Context, { pid }: Program): Promise<Memory> {
  await pause(context.size(30_000, 500), undefined, { signal: context.signal });
  const looks: Awaited<ReturnType<typeof memoryOf>>[] = [];
  for (let n = 0; n < context.size(61, 1); n++) {
    looks.push(await memoryOf(pid));
    await pause(lookEachMs, undefined, { signal: context.signal });
  }
  const sorted = looks.toSorted((a, b) => a.resident - b.resident);
  return told(context, sorted[Math.floor(sorted.length / 2)] ?? (await memoryOf(pid)));
}

/** The most that is seen at one time while clients ask one thing after the other. */
async function watchLoaded(context: Context, { pid, base }: Program): Promise<Memory> {
  const ending = new AbortController();
  const asking = Array.from({ length: clients }, () => ask(base, ending.signal));
  let most = await memoryOf(pid);
  for (let n = 0; n < context.size(40, 2); n++) {
    await pause(lookEachMs, undefined, { signal: context.signal });
    const now = await memoryOf(pid);
    if (now.resident > most.resident) most = now;
  }
  ending.abort();
  const answers = (await Promise.all(asking)).reduce((sum, one) => sum + one, 0);
  context.say(`${answers} answers meanwhile`);
  return told(context, most);
}

function told(context: Context, memory: Awaited<ReturnType<typeof memoryOf>>): Memory {
  const text = ({ resident, once: shared }: Memory): string => `${resident.toFixed(0)} (${shared.toFixed(0)})`;
  const parts = [...memory.by].map(([name, own]) => `${name} ${text(own)}`);
  context.say(`MB resident (shared pages once): ${text(memory)}; ${parts.join(', ')}`);
  return memory;
}

/** Gives back how many answers came. */
async function ask(base: string, signal: AbortSignal): Promise<number> {
  let answers = 0;
  while (!signal.aborted) {
    const response = await fetch(`${base}${paths[answers % paths.length]}`);
    await response.arrayBuffer();
    if (response.status >= 500) throw new Error(`${response.url} answered ${response.status}`);
    answers += 1;
  }
  return answers;
}
