import { AppError, passes, toAppError } from '../../kit/errors.ts';
import type { Genesis } from '../../commands/ledger/chain.ts';
import type { FactLog, Recorded } from '../../commands/ports.ts';
import type { Fact } from '../../events/catalogue.ts';
import type { StreamName } from '../../events/streams.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait } from '../../kit/wait.ts';
import { sentIn } from '../chain/sign/transaction-codec.ts';
import type { Body, SealedTransaction, Whole } from './blocks.ts';
import { ethereumBody } from './ethereum-transactions.ts';
import { Chain, type LoggedBlock } from './chain.ts';
import type { OpenExecution } from './evm-chain.ts';

/** What the ledger needs of the log: appends, a stream read from any place on, and single facts. */
export type LedgerLog = FactLog &
  Readonly<{
    follow: (
      stream: StreamName,
      after: number,
      options: { signal: AbortSignal },
    ) => AsyncIterable<Readonly<{ facts: readonly Recorded[]; behind: number }>>;
    readOne: (stream: StreamName, sequence: number) => Promise<Recorded | undefined>;
  }>;

/** What a chain is before its first block. */
export type Beginning = Readonly<{
  chainId: string;
  /** RFC 3339, UTC. */
  time: string;
  genesis: Genesis;
}>;

/** The chain as its log has it; a log without one is given the beginning first. */
export async function openChain(
  log: LedgerLog,
  { beginning, execution }: Readonly<{ beginning: () => Beginning; execution: OpenExecution }>,
  signal: AbortSignal,
): Promise<Chain> {
  let chain: Chain | undefined;
  const whole = bodiesIn(async (sequence) => (await log.readOne('LEDGER', sequence))?.fact);
  const blocksAfter = (sequence: number) => loggedBlocks(log, sequence, signal);
  const last = (await lastSequence(log)) || (await initialise(log, beginning()));
  for await (const { facts } of log.follow('LEDGER', 0, { signal })) {
    const [first, ...rest] = facts;
    const isBeginning = first?.fact.type === 'ChainInitialised';
    const blocks = blocksIn(isBeginning ? rest : facts);
    if (isBeginning) chain = await Chain.open(first.fact, first.sequence, { whole, execution, blocksAfter });
    if (!chain && first) throw new AppError('INTERNAL', 'The log of the ledger does not begin with its beginning');
    await chain?.apply(blocks);
    if (!chain || chain.sequence < last) continue;
    await chain.evm.begun;
    return chain;
  }
  throw new AppError('UNAVAILABLE', 'Reading the log of the ledger was stopped before its end');
}

/** Takes in what the log has beyond the chain. */
export async function catchUp(chain: Chain, log: LedgerLog, signal: AbortSignal): Promise<void> {
  const last = await lastSequence(log);
  if (last <= chain.sequence) return;
  for await (const { facts } of log.follow('LEDGER', chain.sequence, { signal })) {
    await chain.apply(blocksIn(facts));
    if (chain.sequence >= last) return;
  }
}

/** Takes in every block that any process seals, until the signal aborts; waits while a store is out of reach. */
export async function keepUp(
  chain: Chain,
  { log, logger, onBlock }: Readonly<{ log: LedgerLog; logger: Logger; onBlock: () => void }>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const block of loggedBlocks(log, chain.sequence, signal)) {
        await chain.apply([block]);
        onBlock();
      }
    } catch (caught) {
      if (signal.aborted) return;
      if (!passes(caught)) throw caught;
      logger.warn({ err: toAppError(caught) }, 'ledger could not take in a block; trying again');
      await wait(retryMs, signal);
    }
  }
}

const retryMs = 1000;

async function* loggedBlocks(log: LedgerLog, after: number, signal: AbortSignal): AsyncGenerator<LoggedBlock> {
  for await (const { facts } of log.follow('LEDGER', after, { signal })) yield* blocksIn(facts);
}

function blocksIn(facts: readonly Recorded[]): LoggedBlock[] {
  return facts.map(({ fact, sequence }) => {
    if (fact.type === 'BlockSealed') return { fact, sequence };
    throw new AppError('INTERNAL', `The log of the ledger holds a ${fact.type} at ${sequence}, out of place`);
  });
}

async function lastSequence(log: LedgerLog): Promise<number> {
  return (await log.last('ledger', ['chain'])).get('chain')?.sequence ?? 0;
}

async function initialise(log: LedgerLog, { chainId, time, genesis }: Beginning): Promise<number> {
  const fact = {
    type: 'ChainInitialised',
    data: { chain: 'chain', chainId, time, genesis: JSON.stringify(genesis) },
  } as const;
  try {
    return (await log.append([{ kind: 'ledger', entity: 'chain', facts: [fact], expected: 0 }], { at: time })).sequence;
  } catch (caught) {
    if (toAppError(caught).code !== 'CONFLICT') throw caught;
    return await lastSequence(log);
  }
}

/** What transactions did is left in the log, where it takes no memory, and read from there whenever it is asked for. */
function bodiesIn(read: (sequence: number) => Promise<Fact | undefined>): Whole {
  return async (transactions) =>
    Promise.all(
      transactions.map(async (transaction) => {
        const fact = await read(transaction.sequence);
        const body = fact?.type === 'BlockSealed' ? bodyIn(fact.data, transaction) : undefined;
        if (body) return { ...transaction, ...body };
        throw new AppError('UNAVAILABLE', `The log does not give transaction ${transaction.hash} of the ledger now`);
      }),
    );
}

function bodyIn(block: Fact<'BlockSealed'>['data'], { hash }: SealedTransaction): Body | undefined {
  const found = block.transactions.find((one) => one.hash === hash);
  if (found) return { events: found.events, content: { kind: 'chain', sent: sentIn(found) } };
  return block.evm === undefined ? undefined : ethereumBody(block.evm, hash);
}
