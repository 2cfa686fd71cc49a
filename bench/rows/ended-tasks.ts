import { setTimeout as pause } from 'node:timers/promises';
import { startChainStub } from '../../test/support/chains/chain-stub.ts';
import { until } from '../../test/support/polling.ts';
import { type Program, runProgram } from '../../test/support/programs/run-program.ts';
import { bounded, type Measured } from '../bounded.ts';
import type { Context } from '../context.ts';
import { endTransfers } from '../files/ended-transfers.ts';
import { idlePercent } from '../idle.ts';
import { milliseconds } from '../rounds.ts';
import type { Row } from '../row.ts';

const network = 'ended';

/**
 * A gateway with 200,000 ended tasks, half of them of private files, and no projector: how soon everything but the read
 * models is ready, and how much of a core and of the broker it uses when nobody asks.
 */
export function rows(context: Context): readonly Row[] {
  return bounded('ended-tasks', () => measure(context), {
    start: ['ms', 3_000],
    idle: ['% of a core', 1],
    'idle-messages': ['of the broker a second', 5],
  });
}

async function measure(context: Context): Promise<Measured<'start' | 'idle' | 'idle-messages'>> {
  const tasks = context.size(200_000, 800);
  const nats = await context.nats('relaxed');
  const chain = await startChainStub();
  context.defer(chain.stop);
  const dataDir = await context.folder('ended-tasks');
  const env = {
    ROLES: 'gateway',
    NATS_URL: nats.url.replace('://', `://${nats.user}:${nats.pass}@`),
    CHAIN_API_BASE: chain.url,
    NODE_TRANSPORT: 'plain',
  };
  const start = async (): Promise<Program> => {
    const program = await runProgram({ dataDir, network, env });
    await until('all but the read models is ready', async () => (await missing(program)).join() === 'projections');
    return program;
  };
  // The first start makes its database.
  await (await start()).stop();
  await endTransfers(nats, network, tasks);
  let program: Program | undefined;
  const ready = await milliseconds(async () => void (program = await start()));
  if (!program) throw new Error('The gateway has not started');
  context.defer(program.stop);
  await pause(context.size(5_000, 0), undefined, { signal: context.signal });
  const idleMs = context.size(60_000, 500);
  const [before, began] = [await messagesOf(nats.monitorUrl), performance.now()];
  const idle = await idlePercent(program.pid, idleMs, context.signal);
  const seconds = (performance.now() - began) / 1000;
  const messages = ((await messagesOf(nats.monitorUrl)) - before) / seconds;
  return { figures: { start: ready, idle, 'idle-messages': messages }, note: `${tasks} tasks` };
}

/** What the gateway still needs: nobody keeps read models here. */
async function missing({ base }: Program): Promise<readonly string[]> {
  const { reasons } = (await (await fetch(`${base}/readyz`)).json()) as { reasons: { component: string }[] };
  return [...new Set(reasons.map(({ component }) => component))];
}

async function messagesOf(monitorUrl: string): Promise<number> {
  const { in_msgs: messages } = (await (await fetch(`${monitorUrl}/varz`)).json()) as { in_msgs: number };
  return messages;
}
