import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { ChainEvent } from '../../../commands/ledger/draft.ts';
import { codespaceOf } from '../../../commands/ledger/failure.ts';
import { attributeOf, type CompleteTransaction } from '../blocks/blocks.ts';
import type { Message } from '../../../commands/ledger/messages.ts';
import type { Chain } from '../chain.ts';
import { keyUrls } from '../../chain/sign/keys.ts';
import type { SentTransaction } from '../../chain/sign/transaction-codec.ts';
import { ethereumMessage } from '../../../projections/chain/search-terms.ts';
import { parseQuery } from '../blocks/search-query.ts';
import { type ChainRestRequest, enumQuery, fail, type GrpcCode, type Routes, unsignedQuery } from './answer.ts';

const base = '/cosmos/tx/v1beta1/txs';
const orders = ['ORDER_BY_UNSPECIFIED', 'ORDER_BY_ASC', 'ORDER_BY_DESC'] as const;
const maxLimit = 100;

/** Transactions by search and by hash; only `limit` and `page` cut a search, `pagination.*` does nothing. */
export const transactionRoutes: Routes = {
  [base]: async (request) => {
    const { chain, query } = request;
    const order = enumQuery(query, 'order_by', 'tx.OrderBy', orders);
    const limit = Math.min(unsignedQuery(query, 'limit') || maxLimit, maxLimit);
    const page = unsignedQuery(query, 'page') || 1;
    const [offset, conditions] = [(page - 1) * limit, parseQuery(query.get('query') ?? '')];
    const match = await chain.search(conditions, { order: order === 'ORDER_BY_DESC' ? 'desc' : 'asc', offset, limit });
    const pages = Math.max(1, Math.ceil(match.total / limit));
    if (page > pages) fail(13, `failed to search for txs: page should be within [1, ${pages}] range, given ${page}`);
    for (const transaction of match.transactions) requireStored(request, transaction.height, 13);
    const shown = await chain.whole(match.transactions);
    const bodies = shown.map((transaction) => transactionRecord(chain, transaction));
    return {
      txs: bodies,
      tx_responses: shown.map((transaction, index) => responseRecord(transaction, bodies[index])),
      pagination: null,
      total: String(match.total),
    };
  },
  [`${base}/{hash}`]: async (requested) => {
    const { chain, params } = requested;
    const hash = params['hash'] ?? '';
    const odd = /[^0-9a-fA-F]/.exec(hash)?.[0];
    if (odd) fail(2, `encoding/hex: invalid byte: U+${codePoint(odd)} '${odd}'`);
    if (hash.length % 2 === 1) fail(2, 'encoding/hex: odd length hex string');
    const sealed = (await chain.transaction(hash.toUpperCase())) ?? fail(5, `tx not found: ${hash}`);
    requireStored(requested, sealed.height, 2);
    const [transaction = fail(5, `tx not found: ${hash}`)] = await chain.whole([sealed]);
    const body = transactionRecord(chain, transaction);
    return { tx: body, tx_response: responseRecord(transaction, body) };
  },
};

/** Refuses what a pruned node no longer has. */
export function requireStored({ options }: ChainRestRequest, height: number, code: GrpcCode): void {
  const lowest = options.lowestHeight ?? 0;
  if (height < lowest) fail(code, `height ${height} is not available, lowest height is ${lowest}`);
}

/** A transaction as it was signed. */
export function transactionRecord(chain: Chain, { content, gasWanted }: CompleteTransaction): object {
  return content.kind === 'chain' ? chainRecord(chain, content.sent) : ethereumRecord(content, gasWanted);
}

/** As the real chain wraps a transaction of its virtual machine. */
function ethereumRecord({ raw, from, gasPrice }: Ethereum, gasLimit: number): object {
  const [sender, bytes] = [Buffer.from(from.slice(2), 'hex'), Buffer.from(raw)];
  return {
    body: {
      messages: [{ '@type': ethereumMessage, from: sender.toString('base64'), raw: `0x${bytes.toString('hex')}` }],
      memo: '',
      timeout_height: '0',
      unordered: false,
      timeout_timestamp: null,
      extension_options: [{ '@type': '/cosmos.evm.vm.v1.ExtensionOptionsEthereumTx' }],
      non_critical_extension_options: [],
    },
    auth_info: {
      signer_infos: [],
      fee: {
        amount: [{ denom: 'alume', amount: String(gasPrice * BigInt(gasLimit)) }],
        gas_limit: String(gasLimit),
        payer: '',
        granter: '',
      },
      tip: null,
    },
    signatures: [],
  };
}

type Ethereum = Extract<CompleteTransaction['content'], { kind: 'ethereum' }>;

function chainRecord(chain: Chain, sent: SentTransaction): object {
  const { messages, memo, timeoutHeight, signer, mode, sequence, fee, gasLimit, signature, publicKey } =
    sent.transaction;
  const key = publicKey ?? chain.history.account(signer)?.publicKey;
  return {
    body: {
      messages,
      memo,
      timeout_height: String(timeoutHeight),
      unordered: false,
      timeout_timestamp: null,
      extension_options: [],
      non_critical_extension_options: [],
    },
    auth_info: {
      signer_infos: [
        {
          public_key: key ? { '@type': keyUrls[key.type], key: key.key } : null,
          mode_info: { single: { mode } },
          sequence: String(sequence),
        },
      ],
      fee: { amount: fee, gas_limit: String(gasLimit), payer: '', granter: '' },
      tip: null,
    },
    signatures: [signature],
  };
}

/** The result of a transaction. */
export function responseRecord(transaction: CompleteTransaction, body: object | undefined): object {
  const { height, hash, code, log, gasWanted, gasUsed, time, events } = transaction;
  return {
    height: String(height),
    txhash: hash,
    codespace: codespaceOf(code, log),
    code,
    data: code === 0 ? dataOf(transaction) : '',
    raw_log: log,
    logs: [],
    info: '',
    gas_wanted: String(gasWanted),
    gas_used: String(gasUsed),
    tx: { '@type': '/cosmos.tx.v1beta1.Tx', ...body },
    timestamp: `${new Date(time).toISOString().slice(0, 19)}Z`,
    events: eventRecords(events),
  };
}

/** What its messages answered, as the chain encodes it: upper-case hex of protobuf. */
export function dataOf({ events, content, gasUsed, hash }: CompleteTransaction): string {
  if (content.kind === 'chain') return responseData({ events, messages: content.sent.transaction.messages });
  const writer = new BinaryWriter().tag(2, 2).fork();
  writer.tag(1, 2).string(`${ethereumMessage}Response`);
  writer.tag(2, 2).fork();
  writer.tag(1, 2).string(`0x${hash.toLowerCase()}`);
  if (content.error !== undefined) writer.tag(4, 2).string(content.error);
  writer.tag(5, 0).uint64(gasUsed).join();
  return Buffer.from(writer.join().finish()).toString('hex').toUpperCase();
}

/** Events as the wire has them. */
export function eventRecords(events: readonly ChainEvent[]): object[] {
  return events.map(({ type, attributes }) => ({
    type,
    attributes: attributes.map(({ key, value }) => ({ key, value, index: true })),
  }));
}

type Did = Readonly<{ events: readonly ChainEvent[]; messages: readonly Message[] }>;

/** The messages' responses, as the chain encodes them: upper-case hex of protobuf. */
export function responseData({ events, messages }: Did): string {
  const writer = new BinaryWriter();
  messages.forEach((message, index) => {
    writer.tag(2, 2).fork();
    writer.tag(1, 2).string(`${message['@type']}Response`);
    const value = responseValue(message['@type'], eventsOfMessage(events, index));
    if (value.length > 0) writer.tag(2, 2).bytes(value);
    writer.join();
  });
  return Buffer.from(writer.finish()).toString('hex').toUpperCase();
}

function responseValue(type: string, events: readonly ChainEvent[]): Uint8Array {
  const registered = attributeOf(events, 'action_registered', 'action_id');
  const approved = type.endsWith('ApproveAction') ? attributeOf(events, 'action_approved', 'action_id') : undefined;
  const id = registered ?? approved;
  if (id === undefined) return new Uint8Array();
  const state = registered === undefined ? 'ACTION_STATE_APPROVED' : 'ACTION_STATE_PENDING';
  return new BinaryWriter().tag(1, 2).string(id).tag(2, 2).string(state).finish();
}

function eventsOfMessage(events: readonly ChainEvent[], message: number): ChainEvent[] {
  return events.filter(({ attributes }) =>
    attributes.some(({ key, value }) => key === 'msg_index' && value === String(message)),
  );
}

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
