import type { Reading } from './reading.ts';

/**
 * A query as the bus carries it: the question to the read models, and the type of its answer.
 *
 * Each query is a class of its own, named after its answer, and listed in the table `all.ts` beside its handler.
 */
export abstract class Query<Request, Answer> {
  readonly asked: Request;
  /** Of the type alone: no query has a value of it. */
  declare readonly answer: Answer;

  constructor(request: Request) {
    this.asked = request;
  }
}

/** A query of the table, and what answers it from one snapshot. */
export type QueryEntry = Readonly<{
  query: QueryClass<unknown, unknown>;
  answer: (reading: Reading, query: object) => Promise<unknown>;
}>;

type QueryClass<Requested, Answer> = abstract new (...requested: never[]) => Query<Requested, Answer>;

/** An entry of the table. */
export function answered<Asked, Answer>(
  query: QueryClass<Asked, Answer>,
  by: (reading: Reading, asked: Asked) => Promise<Answer>,
): QueryEntry {
  return {
    query,
    async answer(reading, input) {
      if (!(input instanceof query)) throw new Error(`${query.name} was expected to be answered`);
      return await by(reading, input.asked);
    },
  };
}
