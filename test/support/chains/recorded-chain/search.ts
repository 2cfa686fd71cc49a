import type { TransactionRecord } from './records.ts';
import { badParameter, notImplemented, Refusal } from './refusal.ts';

/** What the search can see: everything up to the head, and times of blocks only from the lowest height on. */
export type View = Readonly<{ head: number; lowest: number }>;

type Condition = (transaction: TransactionRecord) => boolean;

const condition = /^\s*([a-z_]+\.[A-Za-z_]+)\s*(?:(EXISTS)|(=|>=|<=|>|<)\s*('[^']*'|\d+))\s*$/;

/**
 * The chain's search for transactions: `query`, `page`, `limit`, `order_by`; `pagination.limit` is ignored as the chain
 * does.
 *
 * Only transactions about actions were recorded whole, so a query has to name an event of actions.
 */
export function searchTransactions(all: readonly TransactionRecord[], params: URLSearchParams, view: View): unknown {
  const query = params.get('query') ?? '';
  if (query === '') throw new Refusal(500, 13, 'query cannot be empty');
  if (!/action_[a-z_]+\./.test(query) && condition.test(query)) throw notImplemented();
  const conditions = query.split(' AND ').map((text) => parse(text, query));
  const found = all.filter(
    (transaction) => Number(transaction.height) <= view.head && conditions.every((holds) => holds(transaction)),
  );
  if (params.get('order_by') === 'ORDER_BY_DESC') found.reverse();
  const limit = Math.min(positive(params, 'limit') ?? 100, 100);
  const page = positive(params, 'page') ?? 1;
  const pages = Math.max(1, Math.ceil(found.length / limit));
  if (page > pages)
    throw new Refusal(500, 13, `failed to search for txs: page should be within [1, ${pages}] range, given ${page}`);
  const responses = found.slice((page - 1) * limit, page * limit);
  for (const { height } of responses) refusePruned(Number(height), view, 13);
  return { txs: responses.map(bare), tx_responses: responses, pagination: null, total: String(found.length) };
}

/** One transaction by its hash in hex of any case. */
export function transactionByHash(all: readonly TransactionRecord[], hash: string, view: View): unknown {
  const bad = /[^0-9a-fA-F]/u.exec(hash)?.[0];
  if (bad !== undefined) {
    const point = bad.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
    throw new Refusal(500, 2, `encoding/hex: invalid byte: U+${point} '${bad}'`);
  }
  const found = all.find(({ txhash, height }) => txhash === hash.toUpperCase() && Number(height) <= view.head);
  if (!found) throw new Refusal(404, 5, `tx not found: ${hash}`);
  refusePruned(Number(found.height), view, 2);
  return { tx: bare(found), tx_response: found };
}

/** What the chain says of a height that it no longer keeps. */
export function refusePruned(height: number, { lowest }: View, code: number): void {
  if (height < lowest) throw new Refusal(500, code, `height ${height} is not available, lowest height is ${lowest}`);
}

function bare({ tx }: TransactionRecord): unknown {
  return Object.fromEntries(Object.entries(tx).filter(([name]) => name !== '@type'));
}

function positive(params: URLSearchParams, name: string): number | undefined {
  const text = params.get(name) ?? '0';
  if (!/^\d{1,15}$/.test(text))
    throw badParameter(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return text === '0' ? undefined : Number(text);
}

function parse(text: string, query: string): Condition {
  const [, key = '', exists, operator = '', literal = ''] = condition.exec(text) ?? [];
  if (key === '') throw new Refusal(500, 13, `failed to search for txs: offset ${query.length}: EOF`);
  const wanted = literal.replaceAll("'", '');
  if (key === 'tx.height') return ({ height }) => compare(Number(height), operator, Number(wanted));
  const [type, name] = key.split('.');
  const holds = (value: string) => exists !== undefined || (operator === '=' && value === wanted);
  return ({ events }) =>
    events.some((event) => event.type === type && event.attributes.some((one) => one.key === name && holds(one.value)));
}

function compare(height: number, operator: string, wanted: number): boolean {
  if (operator === '=') return height === wanted;
  if (operator === '>=') return height >= wanted;
  if (operator === '<=') return height <= wanted;
  return operator === '>' ? height > wanted : height < wanted;
}
