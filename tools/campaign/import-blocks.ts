import type { FactOf } from '../../src/events/catalogue.ts';
import { sealing } from '../../src/commands/ledger/sealing.ts';
import { createExecutor } from '../../src/edges/evm/executor/executor.ts';
import type { NodeBatch, NodeStore } from '../../src/edges/evm/executor/state/node-store.ts';
import { forgetStates } from '../../src/edges/evm/executor/state/forget-states.ts';
import { openPostgresNodes, type PostgresNodes } from '../../src/edges/evm/executor/state/postgres-nodes.ts';
import type { Chain } from '../../src/edges/ledger/chain.ts';
import { stateRootIn } from '../../src/edges/ledger/evm-block.ts';
import { openChain } from '../../src/edges/ledger/log-fold.ts';
import { keepCheckpoints, openSnapshots } from '../../src/edges/ledger/snapshots.ts';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../src/engine/log/log.ts';
import { passes } from '../../src/kit/errors.ts';
import { createLogger } from '../../src/kit/logger.ts';
import { poll } from '../../src/kit/repeat.ts';
import type { Program } from '../../test/support/programs/run-program.ts';

/** Blocks that one append and one statement take; it divides the blocks between two attested states. */
const atOnce = 500;

/** Imports empty blocks into a program's stores, in this process; `add` settles once `atOnce` more are stored. */
export async function openImport({ instance }: Program, network: string) {
  const { postgres } = instance;
  const nc = await connectNats({ ...instance.nats, name: 'many blocks' });
  const log = createLog(nc, network);
  const [stored, snapshots] = [openPostgresNodes(postgres, network), openSnapshots(postgres, network)];
  const nodes = await batchedNodes(stored);
  const beginning = (): never => {
    throw new Error('The chain is there already');
  };
  const execution = (config: Parameters<typeof createExecutor>[0]['config']) => {
    const executor = createExecutor({ config, nodes });
    return { ...executor, head: nodes.head, forget: () => Promise.resolve(executor.forget()) };
  };
  const blocks = () => ({ add: () => undefined, block: beginning, transaction: beginning, search: beginning });
  const sources = { beginning, execution, snapshots, blocks };
  const chain = await openChain(log, sources, new AbortController().signal);
  await nodes.flush();
  const logger = createLogger({ level: 'warn', format: 'json' });
  const forget = (state: number) => forgetStates(postgres, network, state);
  const checkpoints = keepCheckpoints(chain, { snapshots, forget, logger });
  return {
    height: () => chain.height,
    add: async () => {
      await addBlocks(chain, log, nodes.flush);
      if (chain.height % 1_000 === 0) await checkpoints.done();
    },
    [Symbol.asyncDispose]: async () => {
      await stored.end();
      await nc.close();
    },
  };
}

/** Executes blocks up to the next multiple of `atOnce`, then appends them and stores their states. */
async function addBlocks(chain: Chain, log: Log, flush: () => Promise<void>): Promise<void> {
  const previous = (await log.last('ledger', ['chain'])).get('chain')?.id;
  const facts: FactOf<'ledger'>[] = [];
  const expected = chain.sequence;
  do {
    const time = new Date(Math.max(Date.now(), Date.parse(chain.time) + 1)).toISOString();
    const { fact, evm } = await chain.draftBlock([], [], time);
    const step = { kind: 'seal', block: fact.data, root: stateRootIn(evm.header) } as const;
    const sequence = expected + facts.length + 1;
    facts.push(...sealing.decide(step, chain.height));
    await chain.apply([{ fact, sequence, drafted: evm }]);
  } while (chain.height % atOnce !== 0);
  await log.append([{ kind: 'ledger', entity: 'chain', facts, expected, previous }], { at: chain.time });
  await flush();
  const last = facts.at(-1);
  if (last?.type === 'StateCheckpointed') await chain.apply([{ fact: last, sequence: expected + facts.length }]);
}

const storedAgainMs = 1_000;
const isStored = (): boolean => true;

/** A store that is slow for a moment is asked again; what it has stored already it passes over. */
function laterOn(caught: unknown): undefined {
  if (!passes(caught)) throw caught;
}

/** Holds the nodes of blocks until `flush`; blocks that are stored already go to the store at once. */
async function batchedNodes(stored: PostgresNodes): Promise<NodeStore & Readonly<{ flush: () => Promise<void> }>> {
  let waiting: NodeBatch[] = [];
  const nodes = new Map<string, Uint8Array>();
  let head = await stored.head();
  return {
    get: async (hash) => nodes.get(hash) ?? (await stored.get(hash)),
    head: () => Promise.resolve(head),
    header: async (number) =>
      waiting.find(({ header }) => header.number === number)?.header ?? (await stored.header(number)),
    put: async (batch) => {
      if (head && batch.header.number <= head.number) return await stored.put(batch);
      waiting.push(batch);
      for (const [hash, node] of batch.nodes) nodes.set(hash, node);
      head = batch.header;
    },
    flush: async () => {
      if (waiting.length > 0)
        await poll(async () => await stored.putAll(waiting).then(isStored, laterOn), { everyMs: storedAgainMs });
      waiting = [];
      nodes.clear();
    },
  };
}
