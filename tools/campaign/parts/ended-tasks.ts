import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { startChainStub } from '../../../test/support/chains/chain-stub.ts';
import { freshFolder } from '../../../test/support/programs/fresh-folder.ts';
import { type Program, runProgram } from '../../../test/support/programs/run-program.ts';
import { until } from '../../../test/support/polling.ts';
import { endTransfers } from '../ended-transfers.ts';
import type { PartOptions, Tally } from '../part.ts';

const host = '127.0.0.1';
const network = 'ended';
const ticksASecond = 100;
const idleMs = 60_000;
const bounds = { startMs: 3_000, idlePercent: 1, messagesASecond: 5 } as const;

/**
 * A gateway with so many ended tasks, half of them of private files, and no projector: how soon everything but the read
 * models is ready, and how much of a core and of the broker it uses when nobody asks.
 */
export async function run({ count, log: say }: PartOptions): Promise<Tally> {
  await using undo = new AsyncDisposableStack();
  const { folder, remove } = freshFolder();
  undo.defer(remove);
  const silent = (): void => undefined;
  const nats = await startNats({
    dir: path.join(folder, 'nats'),
    host,
    port: 0,
    wsPort: 0,
    ephemeral: true,
    say: silent,
  });
  undo.defer(async () => await nats.stop());
  const chain = await startChainStub();
  undo.defer(chain.stop);
  const env = {
    ROLES: 'gateway',
    NATS_URL: nats.url.replace('://', `://${nats.user}:${nats.pass}@`),
    CHAIN_API_BASE: chain.url,
    NODE_TRANSPORT: 'plain',
  };
  const start = async (): Promise<Program> => {
    const program = await runProgram({ dataDir: path.join(folder, 'data'), network, env });
    await until('all but the read models is ready', async () => (await missing(program)).join() === 'projections');
    return program;
  };
  // The first start makes its database.
  await (await start()).stop();
  const filledMs = await timed(async () => await endTransfers(nats, network, count));
  say(`${count} tasks written in ${Math.round(filledMs / 1000)} s`);
  let program: Program | undefined;
  const startMs = await timed(async () => void (program = await start()));
  if (!program) throw new Error('The gateway has not started');
  const { pid, stop } = program;
  undo.defer(async () => void (await stop()));
  await pause(5_000);
  const before = await figuresOf(pid, nats.monitorUrl);
  await pause(idleMs);
  const after = await figuresOf(pid, nats.monitorUrl);
  const seconds = (after.atMs - before.atMs) / 1000;
  const idlePercent = (100 * (after.ticks - before.ticks)) / ticksASecond / seconds;
  const messages = (after.messages - before.messages) / seconds;
  const figures = [idlePercent, messages].map((figure) => figure.toFixed(2));
  say(`ready after ${Math.round(startMs)} ms; idle ${figures[0]} % of a core, ${figures[1]} messages a second`);
  const holds = startMs <= bounds.startMs && idlePercent <= bounds.idlePercent && messages < bounds.messagesASecond;
  return { passed: Number(holds), failed: Number(!holds) };
}

/** What the gateway still needs: nobody keeps read models here. */
async function missing({ base }: Program): Promise<readonly string[]> {
  const { reasons } = (await (await fetch(`${base}/readyz`)).json()) as { reasons: { component: string }[] };
  return [...new Set(reasons.map(({ component }) => component))];
}

async function timed(work: () => Promise<void>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

async function figuresOf(pid: number, monitorUrl: string) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const { in_msgs: messages } = (await (await fetch(`${monitorUrl}/varz`)).json()) as { in_msgs: number };
  return { atMs: performance.now(), ticks: Number(words[11]) + Number(words[12]), messages };
}
