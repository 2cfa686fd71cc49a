import { type ChainClient, readHead } from '../../chain/rest/client.ts';

/** A transaction of the local network's chain, as the start page shows it. */
type ShownTransaction = Readonly<{
  hash: string;
  height: number;
  /** RFC 3339. */
  time: string;
  /** Last word of its first message's type, such as `MsgSend`. */
  message: string;
  /** Where it failed, why. */
  failure: string | null;
}>;

/** What happened last on the chain. */
export type ChainActivity = Readonly<{ height: number; transactions: readonly ShownTransaction[] }>;

/** Number of blocks that are searched for the latest transactions. */
const latestBlocks = 100;
const mostTransactions = 24;
/** Every viewer of the page sends requests; the chain receives one at most this often. */
const freshMs = 1_000;

/**
 * What happened last on the chain behind a chain REST, for a page; fails where that does not answer.
 *
 * Callers at the same moment share one answer.
 */
export function createChainActivity(chain: ChainClient): () => Promise<ChainActivity> {
  let request: Readonly<{ at: number; answer: Promise<ChainActivity> }> | undefined;
  return async () => {
    if (!request || performance.now() - request.at > freshMs)
      request = { at: performance.now(), answer: activity(chain) };
    return await request.answer;
  };
}

async function activity(chain: ChainClient): Promise<ChainActivity> {
  const session = chain.session();
  const { height } = await readHead(session);
  const query = {
    query: `tx.height>=${Math.max(0, height - latestBlocks)}`,
    order_by: 'ORDER_BY_DESC',
    limit: String(mostTransactions),
  };
  const { body } = await session.get('/cosmos/tx/v1beta1/txs', { query });
  return { height, transactions: (body as Match).tx_responses.map(shown) };
}

type Response = Readonly<{
  txhash: string;
  height: string;
  timestamp: string;
  code: number;
  raw_log: string;
  tx: Readonly<{ body: Readonly<{ messages: readonly Readonly<{ '@type': string }>[] }> }>;
}>;
type Match = Readonly<{ tx_responses: readonly Response[] }>;

function shown({ txhash: hash, height, timestamp: time, code, raw_log: log, tx }: Response): ShownTransaction {
  const message = tx.body.messages[0]?.['@type'].split('.').at(-1) ?? '';
  return { hash, height: Number(height), time, message, failure: code === 0 ? null : log };
}
