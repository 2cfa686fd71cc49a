import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { CommandBus, CommandHandler, CqrsModule, QueryBus, QueryHandler } from '@nestjs/cqrs';
import type { Reading } from '../projections/reading.ts';

/** Command: ask for a round of SuperNodes and validators at once. */
export class RequestSync {
  readonly at: string;
  constructor(at: string) {
    this.at = at;
  }
}

/** Query: answers from one consistent look at the read models. */
export class ReadModels<T> {
  readonly answer: (reading: Reading) => Promise<T>;
  constructor(answer: (reading: Reading) => Promise<T>) {
    this.answer = answer;
  }
}

/** What carries commands and queries out. */
export type Handlers<Requested> = Readonly<{
  requestSync: (command: RequestSync) => Promise<Requested>;
  readModels: <T>(query: ReadModels<T>) => Promise<T>;
}>;

/** Commands and queries in process. Facts never travel here: they go to the log, and whoever follows it learns of them. */
export type Bus<Requested> = Readonly<{
  command: (command: RequestSync) => Promise<Requested>;
  query: <T>(query: ReadModels<T>) => Promise<T>;
  close: () => Promise<void>;
}>;

/** A container that holds nothing but the handlers; bound by plain calls, so that no decorator syntax is needed. */
export async function createBus<Requested>(handlers: Handlers<Requested>): Promise<Bus<Requested>> {
  class RequestSyncHandler {
    execute(command: RequestSync): Promise<Requested> {
      return handlers.requestSync(command);
    }
  }
  class ReadModelsHandler {
    execute<T>(query: ReadModels<T>): Promise<T> {
      return handlers.readModels(query);
    }
  }
  CommandHandler(RequestSync)(RequestSyncHandler);
  QueryHandler(ReadModels)(ReadModelsHandler);
  class Root {}
  const providers = [RequestSyncHandler, ReadModelsHandler].map((handler) => ({
    provide: handler,
    useFactory: () => new handler(),
  }));
  const context = await NestFactory.createApplicationContext(
    { module: Root, imports: [CqrsModule.forRoot()], providers },
    { logger: false },
  );
  const [commands, queries] = [context.get(CommandBus), context.get(QueryBus)];
  return {
    command: async (command) => await commands.execute<RequestSync, Requested>(command),
    query: async <T>(query: ReadModels<T>) => await queries.execute<ReadModels<T>, T>(query),
    close: async () => await context.close(),
  };
}
