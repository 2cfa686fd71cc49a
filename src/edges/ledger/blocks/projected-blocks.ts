import { AppError } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';
import {
  ChainBlockByHeight,
  ChainTransactionByHash,
  type ChainTransactionRow,
  MatchingTransactions,
  type TransactionSearch,
} from '../../../projections/chain/chain-queries.ts';
import { addressTerm, isIndexed, keyTerm, valueTerm } from '../../../projections/chain/search-terms.ts';
import type { Query } from '../../../projections/query.ts';
import { runQuery } from '../../bus.ts';
import { evmAddress } from '../../chain/sign/addresses.ts';
import type { Reader } from '../../../engine/models/read/reading.ts';
import { dataHashOf, type SealedTransaction, type Complete } from './blocks.ts';
import { pageOf, type SealedBlocks, type UpTo } from './sealed-blocks.ts';
import { type Condition, hasAttribute, meets } from './transaction-index.ts';

/** The read model follows the log a moment behind: so often it is read again, and so long. */
const again = { eachMs: 10, withinMs: 5_000 } as const;
/** Transactions that a search reads one by one, in all and at once. */
const examined = { most: 10_000, atOnce: 100 } as const;
const highest = 2 ** 31 - 1;

/** The blocks of a chain as their read model has them; what transactions did is in the log. */
export function projectedBlocks(reader: Pick<Reader, 'read'>, complete: Complete): SealedBlocks {
  const query: Request = async (one, { sequence }) => {
    const until = performance.now() + again.withinMs;
    for (;;) {
      const read = await reader.read(async (reading) => {
        const answer = await runQuery(reading, one);
        return { answer, isThere: reading.followed.blocks.sequence >= sequence };
      });
      if (read.isThere) return read.answer;
      if (performance.now() > until)
        throw new AppError('UNAVAILABLE', 'The read model of blocks is behind the chain; try again');
      await wait(again.eachMs, new AbortController().signal);
    }
  };
  const transaction = transactionsBy(query);
  return {
    add: () => undefined,
    transaction,
    block: async (height, upTo) => {
      const row = await query(new ChainBlockByHeight({ height }), upTo);
      if (row === undefined) return undefined;
      const { number, time, position: sequence, chain_hash: hash, previous_hash: previousHash } = row;
      const transactions = row.transactions.map((one) => transactionOf({ ...one, number, time, position: sequence }));
      return { height, time, transactions, hash, previousHash, dataHash: dataHashOf(transactions) };
    },
    search: searchBy({ query, transaction, whole: complete }),
  };
}

type Request = <Answer>(one: Query<unknown, Answer>, upTo: UpTo) => Promise<Answer>;

const transactionsBy =
  (query: Request): SealedBlocks['transaction'] =>
  async (hash, upTo) => {
    if (!/^[0-9A-F]{64}$/.test(hash)) return undefined;
    const row = await query(new ChainTransactionByHash({ hash: `0x${hash.toLowerCase()}` }), upTo);
    return row && transactionOf(row);
  };

type Search = Readonly<{ query: Request; transaction: SealedBlocks['transaction']; whole: Complete }>;

function searchBy({ query, transaction, whole }: Search): SealedBlocks['search'] {
  return async (conditions, page, upTo) => {
    const [from, to] = heightsOf(conditions);
    const attributes = conditions.filter(({ key }) => key !== 'tx.height' && key !== 'tx.hash');
    const byHash = conditions.find(({ key }) => key === 'tx.hash');
    if (byHash) {
      const match = await transaction(byHash.value.toUpperCase(), upTo);
      const read = match && match.height >= from && match.height <= to ? await whole([match]) : [];
      const all = read.filter((one) => attributes.every((condition) => hasAttribute(one, condition)));
      return pageOf(all, page);
    }
    const offset = Math.min(page.offset, Number.MAX_SAFE_INTEGER);
    const search = { ...page, offset, terms: attributes.map(termsOf), from, to };
    const unindexed = attributes.filter((condition) => !isMatchByTerm(condition));
    if (unindexed.length > 0) return pageOf(await examine({ query, whole }, { search, unindexed }, upTo), page);
    const { total, transactions } = await query(new MatchingTransactions(search), upTo);
    return { total, transactions: transactions.map(transactionOf) };
  };
}

/** All transactions that meet conditions without a term, read one by one. */
async function examine(
  { query, whole }: Pick<Search, 'query' | 'whole'>,
  { search, unindexed }: Readonly<{ search: TransactionSearch; unindexed: readonly Condition[] }>,
  upTo: UpTo,
): Promise<SealedTransaction[]> {
  const all: SealedTransaction[] = [];
  for (let offset = 0; ; offset += examined.atOnce) {
    const part = { ...search, order: 'asc', offset, limit: examined.atOnce } as const;
    const { total, transactions } = await query(new MatchingTransactions(part), upTo);
    if (total > examined.most)
      throw new AppError('INVALID_ARGUMENT', `The search reads ${total} transactions one by one; narrow its heights`);
    const read = await whole(transactions.map(transactionOf));
    all.push(...read.filter((one) => unindexed.every((condition) => hasAttribute(one, condition))));
    if (offset + examined.atOnce >= total) return all;
  }
}

type Row = Omit<ChainTransactionRow, 'place'>;

function transactionOf({ hash, number: height, time, code, log, position: sequence }: Row): SealedTransaction {
  return { hash: hash.slice(2).toUpperCase(), height, time, code, log, sequence };
}

/** The lowest and the highest height that meet all conditions on it. */
function heightsOf(conditions: readonly Condition[]): readonly [number, number] {
  let [from, to] = [0, highest];
  for (const { key, operator, value } of conditions) {
    const height = Number(value);
    if (key !== 'tx.height' || operator === 'EXISTS') continue;
    if (!Number.isSafeInteger(height) || Math.abs(height) >= highest) {
      if (!meets('1', { key, operator, value })) [from, to] = [1, 0];
      continue;
    }
    if (operator === '=' || operator === '>=') from = Math.max(from, height);
    if (operator === '>') from = Math.max(from, height + 1);
    if (operator === '=' || operator === '<=') to = Math.min(to, height);
    if (operator === '<') to = Math.min(to, height - 1);
  }
  return [from, to];
}

function isMatchByTerm({ key, operator, value }: Condition): boolean {
  return operator === 'EXISTS' || (operator === '=' && isIndexed(key, value));
}

/** Terms of which a transaction has one at least where it meets a condition. */
function termsOf(condition: Condition): string[] {
  const { key, operator, value } = condition;
  if (operator === 'EXISTS' || !isMatchByTerm(condition)) return [keyTerm(key)];
  const address = evmAddress(value);
  return [valueTerm(key, value), ...(address === undefined ? [] : [addressTerm(key, address.toLowerCase())])];
}
