import { base64 } from '@scure/base';
import { parseBounded } from '../../../kit/bounded-json.ts';
import type { Chain } from '../chain.ts';
import {
  decodeTransaction,
  hashOf,
  type SentTransaction,
  UnreadableTransaction,
} from '../../chain/sign/transaction-codec.ts';
import type { Sealer } from '../sealer.ts';
import { simulate } from '../simulate.ts';
import { fail, failUnread } from './answer.ts';
import { eventRecords, responseRecord, transactionRecord } from './transactions.ts';

const base = '/cosmos/tx/v1beta1';

/** A request with a body; only transactions use it. */
export type Posted = Readonly<{ chain: Chain; sealer: Sealer; body: string }>;

/** The handlers of POST, by path. */
export const postRoutes: Readonly<Record<string, (posted: Posted) => Promise<object>>> = {
  [`${base}/txs`]: broadcast,
  [`${base}/simulate`]: simulated,
};

const modes = ['BROADCAST_MODE_UNSPECIFIED', 'BROADCAST_MODE_BLOCK', 'BROADCAST_MODE_SYNC', 'BROADCAST_MODE_ASYNC'];

/**
 * Sends a transaction. In every mode the answer comes when its block is in the log, because nothing that was
 * acknowledged may be lost; mode BLOCK reports its result, the others only that it was accepted, as the real chain's
 * CheckTx does.
 */
async function broadcast({ chain, sealer, body }: Posted): Promise<object> {
  const { bytes, fields } = readBody(body);
  const mode = modeOf(fields['mode']);
  let sent: SentTransaction;
  try {
    sent = decodeTransaction(bytes);
  } catch (caught) {
    if (!(caught instanceof UnreadableTransaction)) throw caught;
    return checked(hashOf(bytes), { code: 2, log: caught.message });
  }
  const submitted = await sealer.submissions.submit(sent);
  if ('refusal' in submitted) return checked(sent.hash, submitted.refusal);
  const { hash } = await submitted.sealed;
  if (mode !== 'BROADCAST_MODE_BLOCK') return checked(hash, { code: 0, log: '' });
  const sealed = (await chain.transaction(hash)) ?? fail(5, `tx not found: ${hash}`);
  const [complete = fail(5, `tx not found: ${hash}`)] = await chain.whole([sealed]);
  return { tx_response: responseRecord(complete, transactionRecord(chain, complete)) };
}

async function simulated({ chain, sealer, body }: Posted): Promise<object> {
  const { gasUsed, data, events } = simulate({ chain, sealer }, readBody(body).bytes);
  return {
    gas_info: { gas_wanted: '0', gas_used: String(gasUsed) },
    result: { data: Buffer.from(data).toString('base64'), log: '', events: eventRecords(events), msg_responses: [] },
  };
}

/** The result of CheckTx: only whether the transaction was accepted. */
function checked(txhash: string, { code, log }: Readonly<{ code: number; log: string }>): object {
  const empty = { data: '', logs: [], info: '', gas_wanted: '0', gas_used: '0', tx: null, timestamp: '', events: [] };
  const codespace = code === 0 ? '' : 'sdk';
  return { tx_response: { height: '0', txhash, codespace, code, raw_log: log, ...empty } };
}

function readBody(body: string): { bytes: Uint8Array; fields: Readonly<Record<string, unknown>> } {
  let fields: unknown;
  try {
    fields = parseBounded(body, { depth: 8, values: 1000 });
  } catch {
    return failUnread('the body is not JSON that can be read');
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) failUnread('the body is not an object');
  const known: Readonly<Record<string, unknown>> = { ...fields };
  const text = known['tx_bytes'] ?? known['txBytes'];
  if (typeof text !== 'string' || text === '') fail(3, 'invalid empty tx');
  try {
    return { bytes: base64.decode(text), fields: known };
  } catch {
    return failUnread('tx_bytes is not base64');
  }
}

function modeOf(value: unknown): string {
  const mode = typeof value === 'number' ? modes[value] : (value ?? 'BROADCAST_MODE_SYNC');
  if (typeof mode !== 'string' || !modes.includes(mode)) failUnread(`${String(value)} is not a valid BroadcastMode`);
  return mode;
}
