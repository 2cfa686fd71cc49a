import type { Decider } from '../../commands/decider.ts';
import { handle } from '../../commands/handle.ts';
import type { CompleteRound } from '../../commands/sync/sources.ts';
import { supernodes } from '../../commands/sync/supernodes.ts';
import { validators } from '../../commands/sync/validators.ts';
import type { Fact } from '../../events/catalogue.ts';
import { pagesOf } from './listings.ts';
import { minimumVersionOf, operatorOf, parseSuperNode, parseValidator } from './records.ts';
import type { RoundContext, RoundOutcome } from './round.ts';
import { asObject, attempt, BadRecord } from './values.ts';

const pageSize = 200;

/** Reads all SuperNodes as of the head, and the oldest version that the chain allows. */
export async function readSuperNodes(context: RoundContext): Promise<RoundOutcome> {
  const { session, head, known, profile } = context;
  const parameters = await session.get('~/supernode/v1/params', { height: head.height });
  const minimumVersion = minimumVersionOf(parameters.body) ?? known.minimumVersion;
  const list = { route: '~/supernode/v1/list_super_nodes', field: 'supernodes', operatorField: 'validator_address' } as const;
  const outcome = await recordList(context, {
    ...list,
    decider: supernodes,
    parse: (record) => parseSuperNode(record, profile.addressPrefix),
    command: (node, record) => ({ node, height: head.height, record }),
  });
  return { ...outcome, learned: { open: [], unread: [], ...(minimumVersion === undefined ? {} : { minimumVersion }) } };
}

/** Reads all validators as of the head. */
export async function readValidators(context: RoundContext): Promise<RoundOutcome> {
  const { head } = context;
  const list = { route: '/cosmos/staking/v1beta1/validators', field: 'validators', operatorField: 'operator_address' } as const;
  const outcome = await recordList(context, {
    ...list,
    decider: validators,
    parse: parseValidator,
    command: (validator, record) => ({ validator, height: head.height, record }),
  });
  return { ...outcome, learned: { open: [], unread: [] } };
}

/** A list that is read whole: how its records are read, and who decides what they mean. */
type WholeList<Command, State, F extends Fact, Record> = Readonly<{
  route: string;
  field: string;
  operatorField: 'validator_address' | 'operator_address';
  decider: Decider<Command, State, F>;
  parse: (record: Readonly<{ [field: string]: unknown }>) => Record;
  command: (operator: string, record: Record | undefined) => Command;
}>;

/**
 * Records what a list says, and who has left it.
 *
 * A removal is believed only of a list that was read to its end and whose every record names its operator; what could be
 * read is recorded in any case. A record that cannot be read keeps its operator as it was.
 */
async function recordList<Command, State, F extends Fact, Record>(
  { session, head, log, cause, profile }: RoundContext,
  list: WholeList<Command, State, F, Record>,
): Promise<Pick<CompleteRound, 'facts' | 'skipped'>> {
  const { route, field, operatorField, decider, parse, command } = list;
  const commands = new Map<string, Command>();
  const listed = new Set<string>();
  const skipped: { record: string; reason: string }[] = [];
  let facts = 0;
  let isEveryoneNamed = true;
  const write = async (): Promise<void> => {
    facts += (await handle(log, decider, commands, cause)).facts;
  };
  try {
    for await (const page of pagesOf(session, { route, field, height: head.height, pageSize })) {
      for (const value of page) {
        const named = attempt(() => operatorOf(asObject(value) ?? {}, operatorField, profile.addressPrefix));
        if ('reason' in named) {
          isEveryoneNamed = false;
          skipped.push({ record: `one of ${field}`, reason: named.reason });
          continue;
        }
        const operator = named.value;
        const read = attempt(() => {
          const record = asObject(value);
          if (record === undefined || listed.has(operator)) throw new BadRecord('it is listed twice');
          return parse(record);
        });
        listed.add(operator);
        if ('value' in read) commands.set(operator, command(operator, read.value));
        else skipped.push({ record: operator, reason: read.reason });
      }
    }
  } catch (caught) {
    await write();
    throw caught;
  }
  if (isEveryoneNamed) {
    for (const operator of (await log.lastOfAll(decider.kind)).keys()) {
      if (!listed.has(operator)) commands.set(operator, command(operator, undefined));
    }
  }
  await write();
  return { facts, skipped };
}
