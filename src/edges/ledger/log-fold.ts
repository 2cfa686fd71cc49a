import { AppError, passes } from '../../kit/errors.ts';
import { AdvanceChain } from '../../commands/ledger/sealing.ts';
import type { Genesis } from '../../commands/ledger/chain.ts';
import type { FactLog, Recorded } from '../../commands/ports.ts';
import type { Fact } from '../../events/catalogue.ts';
import type { StreamName } from '../../events/streams.ts';
import type { Logger } from '../../kit/logger.ts';
import { repeat } from '../../kit/repeat.ts';
import { lostEnd } from '../../engine/log/follow.ts';
import { sentIn } from '../chain/sign/transaction-codec.ts';
import { type Body, bodyOf, type SealedTransaction, type Complete } from './blocks/blocks.ts';
import { ethereumBody } from './ethereum-transactions.ts';
import { dispatch } from '../bus.ts';
import { Chain } from './chain.ts';
import { type ChainSnapshot, LastBlocks, type LoggedBlock } from './chain-stores.ts';
import type { OpenExecution } from './evm-chain.ts';
import { blocksInMemory, type SealedBlocks } from './blocks/sealed-blocks.ts';
import type { Snapshots } from './snapshots.ts';

/** The part of the log that the ledger needs: appends, a stream read from any position on, and single facts. */
export type LedgerLog = FactLog &
  Readonly<{
    follow: (
      stream: StreamName,
      after: number,
      options: { signal: AbortSignal; verifiesLast?: boolean; onResumed?: () => Promise<void> },
    ) => AsyncIterable<Readonly<{ facts: readonly Recorded[]; behind: number }>>;
    readOne: (stream: StreamName, sequence: number) => Promise<Recorded | undefined>;
  }>;

/** A chain before its first block. */
export type GenesisState = Readonly<{
  chainId: string;
  /** RFC 3339, UTC. */
  time: string;
  genesis: Genesis;
}>;

/** The sources of a chain; without `blocks` all of them are held in memory. */
export type ChainSources = Readonly<{
  beginning: () => GenesisState;
  execution: OpenExecution;
  blocks?: ((full: Complete) => SealedBlocks) | undefined;
  /** Without it each start reads the complete log. */
  snapshots?: Snapshots | undefined;
}>;

/**
 * The chain as its log has it; an empty log receives the genesis first.
 *
 * It starts from the newest snapshot that the log attests, and reads the blocks after it.
 */
export async function openChain(
  log: LedgerLog,
  { beginning, execution, snapshots, blocks: blocksBy = blocksInMemory }: ChainSources,
  signal: AbortSignal,
): Promise<Chain> {
  const whole = bodiesIn(async (sequence) => (await log.readOne('LEDGER', sequence))?.fact);
  const blocksAfter = (sequence: number) => loggedBlocks(log, sequence, signal);
  const newestSnapshot = async (height: number) => await attested(log, await snapshots?.newest(height));
  const last = (await lastSequence(log)) || (await initialise(log, beginning()));
  const first = await log.readOne('LEDGER', firstSequence);
  if (first?.fact.type !== 'ChainInitialised')
    throw new AppError('INTERNAL', 'The log of the ledger does not begin with its beginning');
  const lastBlocks = new LastBlocks();
  const stores = { whole, lastBlocks, blocks: blocksBy(whole), execution, blocksAfter, newestSnapshot };
  const chain = await Chain.open(first.fact, first.sequence, stores);
  const snapshot = await newestSnapshot(highest);
  if (snapshot) chain.startFrom(snapshot);
  if (chain.sequence < last) await readOn(chain, { log, last }, signal);
  await chain.evm.begun;
  return chain;
}

const firstSequence = 1;
const highest = 2 ** 31 - 1;

/** A snapshot where the log attests the same state after its block. */
async function attested(
  log: Pick<LedgerLog, 'readOne'>,
  snapshot: ChainSnapshot | undefined,
): Promise<ChainSnapshot | undefined> {
  if (!snapshot) return undefined;
  const fact = (await log.readOne('LEDGER', snapshot.sequence))?.fact;
  const isAttested = fact?.type === 'StateCheckpointed' && fact.data.height === snapshot.height;
  return isAttested && fact.data.root === snapshot.root ? snapshot : undefined;
}

async function readOn(
  chain: Chain,
  { log, last }: Readonly<{ log: LedgerLog; last: number }>,
  signal: AbortSignal,
): Promise<void> {
  for await (const { facts } of log.follow('LEDGER', chain.sequence, { signal })) {
    await chain.apply(blocksIn(facts));
    if (chain.sequence >= last) return;
  }
  throw new AppError('UNAVAILABLE', 'Reading the log of the ledger was stopped before its end');
}

/**
 * Applies the events of the log beyond the chain. Fails with `UNAVAILABLE` where they do not come in time: the log may
 * have lost its end since it said where that is, and whoever seals would wait for an event that is its own to write.
 */
export async function catchUp(
  chain: Chain,
  log: LedgerLog,
  { signal, withinMs = catchUpMs }: Readonly<{ signal: AbortSignal; withinMs?: number }>,
): Promise<void> {
  const last = await lastSequence(log);
  if (last > chain.sequence)
    await readOn(chain, { log, last }, AbortSignal.any([signal, AbortSignal.timeout(withinMs)]));
}

const catchUpMs = 30_000;

/**
 * Appends again the blocks of a chain that its log has lost since, to the letter; only whoever seals may. Fails with
 * `UNAVAILABLE` where the log lost more than this process holds, and while nothing is written to it.
 */
export async function putBack(chain: Chain, log: LedgerLog): Promise<void> {
  const end = await lastSequence(log);
  if (end >= chain.sequence) return;
  const lost = chain.lastBlocks.after(end);
  if (!lost)
    throw new AppError(
      'UNAVAILABLE',
      `The log of the ledger ends at ${end}, and the chain at ${chain.sequence}: it has lost more than can be put back`,
    );
  for (const [place, { fact, sequence }] of lost.entries()) {
    if (fact.type !== 'BlockSealed') continue;
    const { height, time } = fact.data;
    const next = lost[place + 1]?.fact;
    const step = {
      kind: 'seal',
      block: fact.data,
      root: next?.type === 'StateCheckpointed' ? next.data.root : '',
    } as const;
    const known = new Map([['chain', { state: height - 1, sequence: sequence - 1 }]]);
    await dispatch(log, new AdvanceChain(new Map([['chain', step]]), { at: time }, known));
  }
}

/**
 * Applies every block that any process seals, until the signal aborts.
 *
 * Waits while a store is out of reach, and until the log is brought back whose end was lost, which it tells: the chain
 * here is the one of that end. Fails where the log holds another event there.
 */
export async function keepUp(
  chain: Chain,
  {
    log,
    logger,
    onBlock,
    onLost,
  }: Readonly<{ log: LedgerLog; logger: Logger; onBlock: () => void; onLost: () => void }>,
  signal: AbortSignal,
): Promise<void> {
  const follow = async (): Promise<void> => {
    for await (const block of loggedBlocks(log, chain.sequence, signal)) {
      await chain.apply([block]);
      onBlock();
    }
  };
  // The archive, whoever seals or an operator brings it back.
  const isPassing = (caught: unknown): boolean => {
    const isEndLost = (lostEnd(caught) ?? Infinity) < chain.sequence;
    if (isEndLost) onLost();
    return isEndLost || passes(caught);
  };
  const waiting = { everyMs: 0, retryMs, isPassing, log: logger, signal };
  await repeat('ledger could not take in a block; trying again', follow, waiting);
}

const retryMs = 1000;

async function* loggedBlocks(log: LedgerLog, after: number, signal: AbortSignal): AsyncGenerator<LoggedBlock> {
  for await (const { facts } of log.follow('LEDGER', after, { signal, verifiesLast: true })) yield* blocksIn(facts);
}

function blocksIn(facts: readonly Recorded[]): LoggedBlock[] {
  return facts.map(({ fact, sequence }) => {
    if (fact.type === 'BlockSealed' || fact.type === 'StateCheckpointed') return { fact, sequence } as LoggedBlock;
    throw new AppError('INTERNAL', `The log of the ledger holds a ${fact.type} at ${sequence}, out of place`);
  });
}

async function lastSequence(log: LedgerLog): Promise<number> {
  return (await log.last('ledger', ['chain'])).get('chain')?.sequence ?? 0;
}

async function initialise(log: LedgerLog, { chainId, time, genesis }: GenesisState): Promise<number> {
  const chain = { chain: 'chain', chainId, time, genesis: JSON.stringify(genesis) };
  const step = { kind: 'initialise', chain } as const;
  const { last } = await dispatch(log, new AdvanceChain(new Map([['chain', step]]), { at: time }));
  return last?.sequence ?? (await lastSequence(log));
}

/** What transactions did is left in the log and read from there on request, each block once for all that it holds. */
function bodiesIn(read: (sequence: number) => Promise<Fact | undefined>): Complete {
  return async (transactions) => {
    const facts = new Map<number, Promise<Fact | undefined>>();
    return await Promise.all(
      transactions.map(async (transaction) => {
        const reading = facts.get(transaction.sequence) ?? read(transaction.sequence);
        facts.set(transaction.sequence, reading);
        const fact = await reading;
        const body = fact?.type === 'BlockSealed' ? bodyIn(fact.data, transaction) : undefined;
        if (body) return { ...transaction, ...body };
        throw new AppError('UNAVAILABLE', `The log does not give transaction ${transaction.hash} of the ledger now`);
      }),
    );
  };
}

function bodyIn(block: Fact<'BlockSealed'>['data'], { hash }: SealedTransaction): Body | undefined {
  const match = block.transactions.find((one) => one.hash === hash);
  if (match) return bodyOf(sentIn(match), match);
  return block.evm === undefined ? undefined : ethereumBody(block.evm, hash);
}
