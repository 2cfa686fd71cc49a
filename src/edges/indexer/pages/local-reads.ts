import { AppError } from '../../../kit/errors.ts';

/** Reads of the local network's other interfaces, so that a page needs no host but its own. */
export type LocalReads = Readonly<{
  /** The answer of the EVM's JSON-RPC to a method that only reads, as it is; `params` is JSON. */
  evm: (method: string, params: string) => Promise<unknown>;
  /** The gateway's latest uploads and downloads of public files, or those of one action. */
  transfers: (action: string | undefined) => Promise<unknown>;
  /** The chain's transactions of a hash, in upper-case hex, or of a height. */
  transactions: (of: Readonly<{ hash: string } | { height: number }>) => Promise<unknown>;
}>;

const readsOnly =
  /^(eth_(get|call$|blockNumber$|chainId$|gasPrice$|feeHistory$|syncing$)|ots_|trace_(block|transaction|get)|debug_trace(Transaction|Block))/;
const withinMs = 10_000;

/** Reads by HTTP from the local network's parts; each address is looked up anew, for parts start one by one. */
export function createLocalReads(
  urls: Readonly<{ chain: string; evm: () => string | undefined; gateway: () => string | undefined }>,
): LocalReads {
  return {
    evm: async (method, params) => {
      if (!readsOnly.test(method))
        throw new AppError(
          'INVALID_ARGUMENT',
          `${method} is no method that pages read by; send it to the JSON-RPC port.`,
        );
      const body = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${listOf(params)}}`;
      return await read(existing(urls.evm(), 'EVM'), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    },
    transfers: async (action) => {
      const base = `${existing(urls.gateway(), 'gateway')}/api/v1`;
      const of = action === undefined ? '' : `?action_id=${encodeURIComponent(action)}`;
      const ofUploads = action === undefined ? 'tasks' : `${encodeURIComponent(action)}/tasks`;
      const [uploads, downloads] = await Promise.all([
        read(`${base}/actions/cascade/${ofUploads}`),
        read(`${base}/downloads/cascade/tasks${of}`),
      ]);
      return { uploads, downloads };
    },
    transactions: async (of) =>
      await read(
        `${urls.chain}/cosmos/tx/v1beta1/txs${'hash' in of ? `/${of.hash}` : `?query=tx.height=${of.height}&limit=100`}`,
      ),
  };
}

/** The text where it is a JSON list, so that nothing else gets into the request. */
function listOf(text: string): string {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return JSON.stringify(list);
  } catch {
    // Refused below, with every other text that is no list.
  }
  throw new AppError('INVALID_ARGUMENT', 'params is no JSON list, such as ["latest",false].');
}

function existing(url: string | undefined, what: string): string {
  if (url === undefined) throw new AppError('NOT_FOUND', `The ${what} does not run in this process.`);
  return url;
}

async function read(url: string, init: RequestInit = {}): Promise<unknown> {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(withinMs) });
    return await answer.json();
  } catch (cause) {
    throw new AppError('UNAVAILABLE', 'That part of the local network does not answer; try again.', { cause });
  }
}
