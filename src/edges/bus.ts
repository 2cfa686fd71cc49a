import type { CommandBus, QueryBus } from '@nestjs/cqrs';
import { commands } from '../commands/all.ts';
import type { Command } from '../commands/decider.ts';
import { AppError } from '../kit/errors.ts';
import { span } from '../kit/tracing/tracing.ts';
import type { Handled } from '../commands/handle.ts';
import type { FactLog } from '../commands/ports.ts';
import { queries } from '../projections/all.ts';
import type { Query } from '../projections/query.ts';
import type { Reading } from '../projections/reading.ts';

type Buses = Readonly<{ command: Pick<CommandBus, 'execute'>; query: Pick<QueryBus, 'execute'> }>;
type Handler = Readonly<{ execute: (message: object) => Promise<unknown> }>;

/**
 * The context that executes a message: for a command the log of its sender, which ends with a lease; for a query one
 * snapshot.
 */
const logs = new WeakMap<object, FactLog>();
const readings = new WeakMap<object, Reading>();

let buses: Promise<Buses> | undefined;

/**
 * Makes the container of all handlers once for the process, at its first use: verbs that only read do without.
 *
 * It holds nothing but the two tables, bound by plain calls, so that no decorator syntax is needed and nothing has to
 * be closed. Facts never travel here: they go to the log, and its readers receive them there.
 */
export async function openBuses(): Promise<Buses> {
  buses ??= createBuses();
  return await buses;
}

/**
 * From now on this thread executes messages straight from the two tables: one that serves a single edge does without
 * the container, which takes 20 MB and a quarter of a second.
 */
export function executeFromTables(): void {
  const handlers = new Map<object, Handler['execute']>([
    ...commands.map((one) => [one.command, ofCommand(one)] as const),
    ...queries.map((one) => [one.query, ofQuery(one)] as const),
  ]);
  const execute = async <Result>(message: object): Promise<Result> => {
    const handler = handlers.get(message.constructor);
    if (!handler) throw new AppError('INTERNAL', `No table lists ${message.constructor.name}`);
    return (await handler(message)) as Result;
  };
  buses = Promise.resolve({ command: { execute }, query: { execute } });
}

/**
 * Decides about a command, appends the resulting facts, and returns the state of each entity.
 *
 * @example await dispatch(log, new RecordProbes(probes, { at }))
 */
export async function dispatch<Input, State>(log: FactLog, command: Command<Input, State>): Promise<Handled<State>> {
  const { command: bus } = await openBuses();
  logs.set(command, log);
  return await span(`commands/${command.constructor.name}`, {}, () =>
    bus.execute<Command<Input, State>, Handled<State>>(command),
  );
}

/**
 * Answers a query from one snapshot of the read models.
 *
 * @example await ask(reading, new ActionById({ id: '7' }))
 */
export async function runQuery<Answer>(reading: Reading, query: Query<unknown, Answer>): Promise<Answer> {
  const { query: bus } = await openBuses();
  readings.set(query, reading);
  return await bus.execute<Query<unknown, Answer>, Answer>(query);
}

async function createBuses(): Promise<Buses> {
  await import('reflect-metadata');
  const [{ NestFactory }, cqrs] = await Promise.all([import('@nestjs/core'), import('@nestjs/cqrs')]);
  const forCommands = commands.map((one) => bound(cqrs.CommandHandler(one.command), ofCommand(one)));
  const forQueries = queries.map((one) => bound(cqrs.QueryHandler(one.query), ofQuery(one)));
  class Root {}
  const context = await NestFactory.createApplicationContext(
    { module: Root, imports: [cqrs.CqrsModule.forRoot()], providers: [...forCommands, ...forQueries] },
    { logger: false },
  );
  return { command: context.get(cqrs.CommandBus), query: context.get(cqrs.QueryBus) };
}

function ofCommand({ carryOut }: (typeof commands)[number]): Handler['execute'] {
  return (message) => carryOut(carriedWith(logs, message), message);
}

function ofQuery({ answer }: (typeof queries)[number]): Handler['execute'] {
  return (message) => answer(carriedWith(readings, message), message);
}

/** A handler class of its own, as the container requires one for each message. */
function bound(bind: ClassDecorator, execute: Handler['execute']) {
  class MessageHandler implements Handler {
    readonly execute = execute;
  }
  bind(MessageHandler);
  return { provide: MessageHandler, useFactory: () => new MessageHandler() };
}

function carriedWith<T>(all: WeakMap<object, T>, message: object): T {
  const one = all.get(message);
  if (one === undefined) throw new AppError('INTERNAL', `A ${message.constructor.name} was sent past dispatch and ask`);
  return one;
}
