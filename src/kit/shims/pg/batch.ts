/** pg 8.23.1 sends one statement at a time and waits for its answer. */
import type pg from 'pg';

/** A statement in `pg`'s form; a named one is parsed once per connection. `rows` is the text of a COPY. */
export type Statement = Readonly<{ name?: string; text: string; values?: unknown[]; rows?: string }>;

/** The rows of an answer, by the names of their columns. */
export type ResultRows = readonly Readonly<Record<string, unknown>>[];

/** Requests the rows of a statement. */
export type RunStatement = (statement: Statement) => Promise<ResultRows>;

/** Columns of a statement's rows, in their order. */
type Columns = readonly Readonly<{ name: string; parse: (text: string) => unknown }>[];

type Sent = Readonly<{
  statement: Statement;
  values: (string | null)[];
  resolve: (rows: ResultRows) => void;
  reject: (error: Error) => void;
}>;

/**
 * Sends statements in one piece and returns their rows, one promise for each; nothing else may be under way on the
 * connection.
 *
 * They are one transaction, unless they start or end one, and take one round trip: PostgreSQL answers once all are
 * done. After a failure the statements behind it are not run and fail alike. A named statement is parsed once per
 * connection.
 *
 * @example await Promise.all(sendBatch(client, [{ text: 'select 1 as a' }, { text: 'select 2 as b' }]))
 */
export function sendBatch(client: pg.ClientBase, statements: readonly Statement[]): Promise<ResultRows>[] {
  const answers: Promise<ResultRows>[] = [];
  const sent = statements.map((statement): Sent => {
    const { promise, resolve, reject } = Promise.withResolvers<ResultRows>();
    promise.catch(() => undefined);
    answers.push(promise);
    return { statement, values: (statement.values ?? []).map(toText), resolve, reject };
  });
  client.query(new Batch(client, sent));
  return answers;
}

/** A connection: the columns of what it has parsed, and its watch. */
type Link = { readonly parsed: Map<string, Columns>; watch?: NodeJS.Timeout; isWaiting: boolean };
const links = new WeakMap<pg.ClientBase, Link>();

/** Longer than any statement may take: a server that is silent for so long hangs, or the connection to it is lost. */
const answerWithinMs = 10_000;

/**
 * The part of `pg`'s query interface that its client calls; see pg-cursor for another implementation.
 *
 * A connection has one timer, which each query restarts: a timer of its own would keep each query in memory long after.
 */
class Batch {
  readonly #client: pg.ClientBase;
  readonly #sent: readonly Sent[];
  readonly #link: Link;
  #at = 0;
  #rows: Record<string, unknown>[] = [];
  #columns: Columns | undefined;

  constructor(client: pg.ClientBase, sent: readonly Sent[]) {
    this.#client = client;
    this.#sent = sent;
    this.#link = links.get(client) ?? { parsed: new Map(), isWaiting: false };
    links.set(client, this.#link);
  }

  submit(connection: pg.Connection): void {
    this.#watch(connection);
    connection.stream.cork();
    for (const { statement, values } of this.#sent) {
      const { name = '', text } = statement;
      const isParsed = this.#link.parsed.has(name);
      // A name may be left over from a batch that failed.
      if (!isParsed && name !== '') connection.close({ type: 'S', name }, true);
      if (!isParsed) connection.parse({ name, text, types: [] }, true);
      connection.bind({ statement: name, values }, true);
      if (!isParsed) connection.describe({ type: 'P' }, true);
      connection.execute({}, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  #watch({ stream }: pg.Connection): void {
    const link = this.#link;
    link.isWaiting = true;
    link.watch ??= setTimeout(() => {
      if (link.isWaiting) stream.destroy(new Error(`read timeout: no answer for ${answerWithinMs} ms`));
    }, answerWithinMs).unref();
    link.watch.refresh();
  }

  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#client.getTypeParser(dataTypeID, 'text'),
    }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const columns = (this.#columns ??= this.#link.parsed.get(this.#sent[this.#at]?.statement.name ?? '') ?? []);
    const row: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at += 1) {
      const [column, text] = [columns[at], fields[at]];
      if (column) row[column.name] = typeof text === 'string' ? column.parse(text) : null;
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {
    const sent = this.#sent[this.#at];
    const name = sent?.statement.name;
    if (name !== undefined && !this.#link.parsed.has(name)) this.#link.parsed.set(name, this.#columns ?? []);
    sent?.resolve(this.#rows);
    this.#at += 1;
    this.#rows = [];
    this.#columns = undefined;
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleReadyForQuery(): void {
    this.#link.isWaiting = false;
  }

  handleError(error: Error): void {
    this.#link.isWaiting = false;
    for (const { reject } of this.#sent.slice(this.#at)) reject(error);
  }
}

/** A statement whose values are text already; fails with a `TypeError` where one cannot be sent. */
export const encoded = (statement: Statement): Statement =>
  statement.values ? { ...statement, values: statement.values.map(toText) } : statement;

/** A value as PostgreSQL reads it; the elements of an array are in quotes. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? `{${value.map(elementOf).join()}}` : textOf(value);
}

const elementOf = (value: unknown): string =>
  value === null ? 'NULL' : `"${textOf(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TypeError(`A statement takes text, numbers, truth values and arrays of them, not ${typeof value}`);
}
