import type { Command } from '../../../commands/decider.ts';
import type { Cause } from '../../../commands/ports.ts';
import { type RecordListed, RecordSuperNodes, RecordValidators } from '../../../commands/sync/listed.ts';
import type { RoundCompletion } from '../../../commands/sync/sources.ts';
import { dispatch } from '../../bus.ts';
import { pagesOf } from '../../chain/rest/listings.ts';
import { minimumVersionOf, operatorOf, parseSuperNode, parseValidator } from '../../chain/rest/records.ts';
import type { RoundContext, RoundOutcome } from './round.ts';
import { asObject, attempt, BadRecord } from '../../chain/rest/values.ts';

const pageSize = 200;
const mostBytes = 256 * 1024 * 1024;

/** Reads all SuperNodes as of the head, and the oldest version that the chain allows. */
export async function readSuperNodes(context: RoundContext): Promise<RoundOutcome> {
  const { session, head, known, profile } = context;
  const parameters = await session.get('~/supernode/v1/params', { height: head.height });
  const minimumVersion = minimumVersionOf(parameters.body) ?? known.minimumVersion;
  const outcome = await recordList(context, {
    route: '~/supernode/v1/list_super_nodes',
    field: 'supernodes',
    operatorField: 'validator_address',
    kind: 'node',
    command: RecordSuperNodes,
    parse: (record) => parseSuperNode(record, profile.addressPrefix),
  });
  return { ...outcome, learned: { unread: [], ...(minimumVersion === undefined ? {} : { minimumVersion }) } };
}

/** Reads all validators as of the head. */
export async function readValidators(context: RoundContext): Promise<RoundOutcome> {
  const outcome = await recordList(context, {
    route: '/cosmos/staking/v1beta1/validators',
    field: 'validators',
    operatorField: 'operator_address',
    kind: 'validator',
    command: RecordValidators,
    parse: parseValidator,
  });
  return { ...outcome, learned: { unread: [] } };
}

/** A list that is read completely: the parser of its records, and the decider of their meaning. */
type CompleteList<Entry> = Readonly<{
  route: string;
  field: string;
  operatorField: 'validator_address' | 'operator_address';
  kind: 'node' | 'validator';
  command: new (
    reported: ReadonlyMap<string, RecordListed<Entry>>,
    cause: Cause,
  ) => Command<RecordListed<Entry>, unknown>;
  parse: (record: Readonly<Record<string, unknown>>) => Entry;
}>;

/** Records the entries of a list, and the operators that have left it. */
async function recordList<Entry>(
  { session, head: { height }, log, cause, profile }: RoundContext,
  list: CompleteList<Entry>,
): Promise<Pick<RoundCompletion, 'facts' | 'skipped'>> {
  const { route, field, kind, command: RecordAll } = list;
  const roll = new Roll(list, profile.addressPrefix);
  const listedNow = (): Map<string, RecordListed<Entry>> =>
    new Map([...roll.records].map(([operator, record]) => [operator, { operator, height, record }]));
  try {
    const { leaveOut } = roll;
    for await (const page of pagesOf(session, { route, field, height, pageSize, mostBytes, leaveOut }))
      page.forEach(roll.add);
  } catch (caught) {
    await dispatch(log, new RecordAll(listedNow(), cause));
    throw caught;
  }
  const present = listedNow();
  const known = roll.isEveryoneNamed ? (await log.lastOfAll(kind)).keys() : [];
  for (const operator of known) {
    if (!roll.listed.has(operator)) present.set(operator, { operator, height, record: undefined });
  }
  const { facts } = await dispatch(log, new RecordAll(present, cause));
  return { facts, skipped: roll.skipped };
}

/** The members of a list, as far as it has been read. */
class Roll<Entry> {
  readonly records = new Map<string, Entry>();
  readonly listed = new Set<string>();
  readonly skipped: { record: string; reason: string }[] = [];
  isEveryoneNamed = true;
  readonly #list: Pick<CompleteList<Entry>, 'field' | 'operatorField' | 'parse'>;
  readonly #prefix: string;

  constructor(list: Pick<CompleteList<Entry>, 'field' | 'operatorField' | 'parse'>, prefix: string) {
    this.#list = list;
    this.#prefix = prefix;
  }

  /** The list has an entry whose operator cannot be read. */
  readonly leaveOut = (reason: string): void => {
    this.isEveryoneNamed = false;
    this.skipped.push({ record: `one of ${this.#list.field}`, reason });
  };

  readonly add = (value: unknown): void => {
    const { operatorField, parse } = this.#list;
    const record = asObject(value) ?? {};
    const named = attempt(() => operatorOf(record, operatorField, this.#prefix));
    if ('reason' in named) {
      this.leaveOut(named.reason);
      return;
    }
    const operator = named.value;
    const read = attempt(() => {
      if (this.listed.has(operator)) throw new BadRecord('it is listed twice');
      return parse(record);
    });
    this.listed.add(operator);
    if ('value' in read) this.records.set(operator, read.value);
    else this.skipped.push({ record: operator, reason: read.reason });
  };
}
