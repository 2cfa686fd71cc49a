import type { StepMatch, Step } from '../../../commands/sync/action-states.ts';
import { dataHashOfMessage } from './records.ts';
import { asObject, attempt, BadRecord, coins, height, isActionId, objects, shortList, timeOfText } from './values.ts';

type Json = Readonly<Record<string, unknown>>;
type Event = Readonly<{ type: string; attributes: ReadonlyMap<string, string>; message: string | undefined }>;

/** One action's step in a transaction. */
export type ActionStep = StepMatch &
  Readonly<{
    action: string;
    /** Of a register: the data hash in the message, empty where the message has none. */
    dataHash: string;
  }>;

/** The steps of actions in a transaction, and the actions that it names but whose part cannot be read. */
export type ReadTransaction = Readonly<{
  height: number;
  steps: readonly ActionStep[];
  unread: readonly { action: string; reason: string }[];
}>;

const stepOfEvent: ReadonlyMap<string, Step> = new Map([
  ['action_registered', 'register'],
  ['action_finalized', 'finalize'],
  ['action_approved', 'approve'],
]);

/**
 * The steps of actions in one transaction of a search.
 *
 * Only events count: a successful finalize message may well be a rejected finalization. `msg_index` distinguishes
 * several actions in one transaction, and the order of events those within one message.
 */
export function parseTransaction(
  response: unknown,
  { account, prefix }: { account: string; prefix: string },
): ReadTransaction {
  const answer = asObject(response);
  if (answer === undefined) throw new BadRecord('A transaction is no object');
  const transaction = identity(answer);
  if (answer['code'] !== 0) return { height: transaction.height, steps: [], unread: [] };
  const events = objects(answer['events'], 'events').map(parseEvent);
  const transfers = transfersOf(events, account);
  const steps: ActionStep[] = [];
  const paid = new Set<string>();
  const unread: { action: string; reason: string }[] = [];
  for (const [index, event] of events.entries()) {
    const step = stepOfEvent.get(event.type);
    const action = event.attributes.get('action_id');
    if (step === undefined || !isActionId(action)) continue;
    const read = attempt(() => ({
      action,
      step,
      transaction,
      payments: step === 'finalize' ? paymentsIn(transfers.get(index) ?? [], paid) : [],
      accounts: step === 'finalize' ? accountsOf(event, prefix) : [],
      dataHash: step === 'register' ? dataHashOfMessage(messageOf(answer, event)) : '',
    }));
    if ('value' in read) {
      steps.push(read.value);
      for (const payment of read.value.payments) paid.add(paidIn(payment));
    } else unread.push({ action, reason: read.reason });
  }
  return { height: transaction.height, steps, unread };
}

function identity(answer: Json): StepMatch['transaction'] {
  const { txhash } = answer;
  if (typeof txhash !== 'string' || !/^[0-9A-Fa-f]{64}$/.test(txhash)) throw new BadRecord('txhash is no hash');
  const time = timeOfText(answer['timestamp']);
  return {
    hash: txhash.toUpperCase(),
    height: height(answer['height'], 'height'),
    ...(time === undefined ? {} : { time }),
  };
}

function parseEvent(event: Json): Event {
  const attributes = new Map<string, string>();
  for (const { key, value } of objects(event['attributes'], 'attributes')) {
    if (typeof key === 'string' && typeof value === 'string') attributes.set(key, value);
  }
  return {
    type: typeof event['type'] === 'string' ? event['type'] : '',
    attributes,
    message: attributes.get('msg_index'),
  };
}

function accountsOf(event: Event, prefix: string): readonly string[] {
  const names = (event.attributes.get('supernodes') ?? '').split(',').map((name) => name.trim());
  return [
    ...new Set(
      shortList(names, 'supernodes').filter((name) => name.startsWith(`${prefix}1`) && /^[a-z0-9]{10,128}$/.test(name)),
    ),
  ];
}

/**
 * The module's payments for each finalized action, by the index of its event: transfers of the same message, up to its
 * next finalized action, and all of the message where there is but one.
 *
 * Read in one go: a transaction may have a hundred thousand events.
 */
function transfersOf(events: readonly Event[], account: string): ReadonlyMap<number, readonly Event[]> {
  const groups = new Map<number, Event[]>();
  const messages = new Map<string | undefined, { before: Event[]; places: number[] }>();
  for (const [index, event] of events.entries()) {
    const message = messages.get(event.message) ?? { before: [], places: [] };
    messages.set(event.message, message);
    if (event.type === 'action_finalized') {
      message.places.push(index);
      groups.set(index, []);
    } else if (event.type === 'transfer' && event.attributes.get('sender') === account) {
      (groups.get(message.places.at(-1) ?? -1) ?? message.before).push(event);
    }
  }
  for (const { before, places } of messages.values()) {
    if (places.length === 1) groups.get(places[0] ?? -1)?.unshift(...before);
  }
  return groups;
}

/** What transfers paid; `before` holds what earlier actions of the transaction were paid in. */
function paymentsIn(transfers: readonly Event[], before: ReadonlySet<string>): StepMatch['payments'] {
  const payments = transfers.flatMap(({ attributes }) => {
    const recipient = attributes.get('recipient');
    if (recipient === undefined || !/^[a-z0-9]{10,128}$/.test(recipient))
      throw new BadRecord('A transfer names no recipient');
    return coins(attributes.get('amount') ?? '', 'amount').map((paid) => ({ account: recipient, ...paid }));
  });
  return shortList(payments, 'transfers').map((paid) => (before.has(paidIn(paid)) ? { ...paid, again: true } : paid));
}

const paidIn = ({ account, denom }: StepMatch['payments'][number]): string => `${account} ${denom}`;

/** The message that an event belongs to; the only one where the event names none. */
function messageOf(answer: Json, { message }: Event): unknown {
  const messages = asObject(asObject(answer['tx'])?.['body'])?.['messages'];
  if (!Array.isArray(messages)) return undefined;
  const at = message === undefined ? (messages.length === 1 ? 0 : -1) : Number(message);
  return messages[at] as unknown;
}
