/** pg 8.23.1 has no COPY FROM STDIN. */
import pg from 'pg';

/** Receives the outcome. */
type Report = (error: Error | undefined, result: pg.QueryResult) => void;

/**
 * A COPY that leaves together with its rows, so that it can be pipelined like any other statement; see pg-copy-streams
 * for one that waits for the server and holds few rows at a time.
 *
 * A server that refuses the statement passes the rows over.
 */
export class CopyIn extends pg.Query {
  readonly #text: string;
  readonly #rows: string;

  constructor(text: string, rows: string, report: Report) {
    super(text, report);
    this.#text = text;
    this.#rows = rows;
  }

  override submit = (connection: pg.Connection): void => {
    connection.query(this.#text);
    connection.stream.write(messagesOf(this.#rows));
  };

  /** The rows are under way already. */
  handleCopyInResponse(): void {}
}

const typeAndLength = 5;
const lengthAlone = 4;

/** One CopyData and one CopyDone. */
function messagesOf(rows: string): Buffer {
  const end = typeAndLength + Buffer.byteLength(rows);
  const messages = Buffer.allocUnsafe(end + typeAndLength);
  messages.write('d', 0);
  messages.writeUInt32BE(end - typeAndLength + lengthAlone, 1);
  messages.write(rows, typeAndLength);
  messages.write('c', end);
  messages.writeUInt32BE(lengthAlone, end + 1);
  return messages;
}
