import type { Decision } from '../src/commands/ports.ts';
import { connectNats } from '../src/engine/log/connection.ts';
import { createLog, type Log } from '../src/engine/log/log.ts';
import { ensureStreams } from '../src/engine/log/streams.ts';
import type { Fact } from '../src/events/catalogue.ts';
import { accountOf } from '../test/support/chains/chain-stub-state.ts';
import { probeFacts } from '../test/support/histories/facts.ts';
import { appendLives, creators, lifeOf } from '../test/support/histories/long-history.ts';
import { seeded } from '../test/support/histories/random-history.ts';
import type { Context } from './context.ts';

const batchFacts = 1000;
const workers: readonly [string, ...string[]] = [
  accountOf('worker'),
  ...Array.from({ length: 199 }, (_, n) => accountOf(`worker ${n}`)),
];

type Connection = Awaited<ReturnType<typeof connectNats>>;

/** A connection to the group's broker, as the program makes it. */
export async function connectTo(context: Context, grade: Parameters<Context['nats']>[0]): Promise<Connection> {
  const { url, user, pass } = await context.nats(grade);
  const nc = await connectNats({ url, user, pass, name: 'bench' });
  context.defer(() => nc.close());
  return nc;
}

/** An empty log of a network of its own. */
export async function freshLog(nc: Connection): Promise<{ log: Log; network: string }> {
  const network = freshNetwork();
  await ensureStreams(nc, network);
  return { log: createLog(nc, network), network };
}

let networks = 0;

/** A network name that nobody else uses. */
export function freshNetwork(): string {
  return `bench${++networks}`;
}

/** A passed probe of a node, told from others by its number. */
export function probeOf(node: string, event: number): Fact {
  return probeFacts(node).succeeded({ peerCount: event });
}

/** Appends probes of as many nodes, one of each after the other, until there are that many facts. */
export async function appendProbes(log: Log, { nodes, events }: { nodes: number; events: number }): Promise<void> {
  const names = Array.from({ length: nodes }, (_, n) => `node${n}`);
  const last = new Map<string, number>();
  for (let from = 0; from < events; from += batchFacts) {
    const count = Math.min(batchFacts, events - from);
    const byNode = new Map<string, Fact[]>();
    for (let event = from; event < from + count; event++) {
      const node = names[event % nodes] ?? '';
      byNode.set(node, [...(byNode.get(node) ?? []), probeOf(node, event)]);
    }
    const decisions = [...byNode].map(([entity, facts]): Decision => {
      return { kind: 'probe', entity, facts, expected: last.get(entity) ?? 0 };
    });
    const { sequence } = await log.append(decisions, { at: new Date().toISOString() });
    let place = sequence - count;
    for (const [node, facts] of byNode) last.set(node, (place += facts.length));
  }
}

/** Appends whole lives of actions from a number on, two to three facts each. */
export async function appendActions(log: Log, { from, count }: { from: number; count: number }): Promise<void> {
  const random = seeded(from);
  const some = 3000;
  for (let id = from; id < from + count; id += some) {
    const ids = Array.from({ length: Math.min(some, from + count - id) }, (_, n) => id + n);
    await appendLives(
      log,
      ids.map((one) => lifeOf(random, one, workers, random.pick(creators))),
    );
  }
}
