import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ChainState, type StubTransaction } from './chain-stub-state.ts';

type Answer = { status: number; body: unknown; height?: number };
type Json = { [field: string]: unknown };

/** What the stub does besides what a good node would do. */
export type StubFaults = {
  /** Lowest height whose blocks are there, and whose transactions can be searched. */
  lowestHeight: number;
  /** Answers instead of the chain where it gives something. */
  instead: (url: URL, good: () => Answer) => Answer | undefined;
  /** Takes the answer over, byte for byte, and says whether it did. */
  raw: (url: URL, response: ServerResponse) => boolean;
};

/** A chain's REST on a free port of the loopback address, in the wire form of a recorded node. */
export type ChainStub = {
  chain: ChainState;
  faults: StubFaults;
  url: string;
  requests: string[];
  stop: () => Promise<void>;
};

const action = '/LumeraProtocol/lumera/action/v1/';
const supernode = '/LumeraProtocol/lumera/supernode/v1/';

/** Starts a stub; whoever starts it stops it. */
export async function startChainStub(): Promise<ChainStub> {
  const chain = new ChainState();
  const faults: StubFaults = { lowestHeight: 1, instead: () => undefined, raw: () => false };
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://stub');
    requests.push(decodeURIComponent(`${url.pathname}${url.search}`));
    if (faults.raw(url, response)) return;
    const good = (): Answer => answer({ chain, faults }, url, Number(request.headers['x-cosmos-block-height'] ?? 0));
    send(response, faults.instead(url, good) ?? good());
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return { chain, faults, url: `http://127.0.0.1:${port}`, requests, stop: () => close(server) };
}

function answer({ chain, faults }: { chain: ChainState; faults: StubFaults }, url: URL, pinned: number): Answer {
  const height = pinned === 0 ? chain.height : pinned;
  if (height > chain.height)
    return { status: 500, body: error(2, 'cannot query with height in the future; please provide a valid height') };
  if (pinned !== 0 && pinned < faults.lowestHeight)
    return { status: 500, body: error(2, 'version mismatch on immutable IAVL tree; version does not exist') };
  return { height, ...route(chain, { url, height, lowest: faults.lowestHeight }) };
}

function route(chain: ChainState, { url, height, lowest }: { url: URL; height: number; lowest: number }): Answer {
  const { pathname, searchParams } = url;
  const state = chain.at(height);
  const block = /^\/cosmos\/base\/tendermint\/v1beta1\/blocks\/(latest|\d+)$/.exec(pathname)?.[1];
  if (block !== undefined) return blockOf(chain, block === 'latest' ? chain.height : Number(block), lowest);
  if (pathname.startsWith(`${action}get_action/`)) {
    const found = state.actions.get(pathname.slice(`${action}get_action/`.length));
    return found
      ? { status: 200, body: { action: found } }
      : { status: 404, body: error(5, 'failed to get action by ID') };
  }
  if (pathname === `${action}list_actions`) {
    const sorted = [...state.actions].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
    return { status: 200, body: { ...listed('actions', sorted, searchParams), total: '0' } };
  }
  if (pathname === `${supernode}params`) return { status: 200, body: { params: { min_supernode_version: '2.0.0' } } };
  if (pathname === `${supernode}list_super_nodes`)
    return { status: 200, body: listed('supernodes', [...state.supernodes.values()], searchParams) };
  if (pathname === '/cosmos/staking/v1beta1/validators')
    return { status: 200, body: listed('validators', [...state.validators.values()], searchParams) };
  if (pathname === '/cosmos/tx/v1beta1/txs') return searched(chain.transactions, searchParams, lowest);
  return { status: 501, body: error(12, 'Not Implemented') };
}

function blockOf(chain: ChainState, height: number, lowest: number): Answer {
  if (height < lowest)
    return { status: 500, body: error(2, `height ${height} is not available, lowest height is ${lowest}`) };
  if (height > chain.height)
    return { status: 400, body: error(3, 'requested block height is bigger then the chain length') };
  return {
    status: 200,
    body: { block: { header: { chain_id: chain.chainId, height: String(height), time: chain.timeOf(height) } } },
  };
}

/** Pages by key or by offset; the key is the place of the next record. */
function listed(field: string, records: readonly Json[], query: URLSearchParams): Json {
  const limit = Number(query.get('pagination.limit') ?? 100);
  const from = Number(atob(query.get('pagination.key') ?? '') || (query.get('pagination.offset') ?? 0));
  const next = from + limit < records.length ? btoa(String(from + limit)) : null;
  return { [field]: records.slice(from, from + limit), pagination: { next_key: next, total: '0' } };
}

/** As a real node searches: the whole search fails where one of its transactions has been pruned. */
function searched(all: readonly StubTransaction[], query: URLSearchParams, lowest: number): Answer {
  const terms = (query.get('query') ?? '').split(' AND ');
  const matching = all.filter((transaction) => terms.every((term) => holds(transaction, term)));
  const [limit, page] = [Number(query.get('limit') ?? 100), Number(query.get('page') ?? 1)];
  const pages = Math.max(1, Math.ceil(matching.length / limit));
  if (page > pages)
    return {
      status: 500,
      body: error(13, `failed to search for txs: page should be within [1, ${pages}] range, given ${page}`),
    };
  const shown = matching.slice((page - 1) * limit, page * limit);
  const pruned = shown.find(({ height }) => height < lowest);
  if (pruned)
    return { status: 500, body: error(13, `height ${pruned.height} is not available, lowest height is ${lowest}`) };
  const responses = shown.map((transaction) => ({ ...transaction, height: String(transaction.height) }));
  return {
    status: 200,
    body: { txs: shown.map(({ tx }) => tx), tx_responses: responses, pagination: null, total: String(matching.length) },
  };
}

function holds({ height, events }: StubTransaction, term: string): boolean {
  const least = /^tx\.height>=(\d+)$/.exec(term)?.[1];
  if (least !== undefined) return height >= Number(least);
  const [, type, key, value] = /^(\w+)\.(\w+)(?: EXISTS|='?(\w+)'?)$/.exec(term) ?? [];
  return events.some(
    (event) =>
      event.type === type &&
      event.attributes.some((one) => one.key === key && (value === undefined || one.value === value)),
  );
}

function error(code: number, message: string): Json {
  return { code, message, details: [] };
}

function send(response: ServerResponse, { status, body, height }: Answer): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(height === undefined ? {} : { 'Grpc-Metadata-X-Cosmos-Block-Height': String(height) }),
  });
  response.end(JSON.stringify(body));
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
