import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type pg from 'pg';
import type { Recorded } from '../../../commands/ports.ts';
import { createConsequences, fold, type Keyed, keyed } from './fold.ts';
import type { Folding, StoredRow } from './folding.ts';
import { channelOf, type Generation, metaSchema } from './generations.ts';
import type { Statement } from '../../../kit/shims/pg/batch.ts';
import { sendAll } from '../pool.ts';
import { createPastRows } from './past.ts';
import { createWriter, type Writer } from './write.ts';

/** Brings one generation's tables forward. */
export type Applier = Readonly<{
  /** The generation's position as far as its applier knows: after its last commit. */
  position: () => number;
  /**
   * Applies a batch and advances the checkpoint, both or neither, in one transaction.
   *
   * Returns false, and changes nothing, when the checkpoint is not where this applier left it: another leader wrote, or
   * another generation is live. Fails with a `StopError` at a fact that cannot be applied. After a failure of the
   * database it is unknown whether the batch was applied: read the generation again and make a new applier.
   */
  apply: (client: pg.ClientBase, facts: readonly Recorded[]) => Promise<boolean>;
  /** The same inside a transaction of the caller. */
  applyWithin: (client: pg.ClientBase, facts: readonly Recorded[]) => Promise<boolean>;
}>;

const none: readonly Statement[] = [];
const start: Statement = { text: 'begin' };
const commit: Statement = { text: 'commit' };
const rollback: Statement = { text: 'rollback' };

/** Makes the applier of a generation as it was read; `folding` is the projection that it belongs to. */
export function createApplier(folding: Folding, generation: Generation, network: string): Applier {
  const writer = createWriter(folding, generation.schema);
  let at = generation.position;
  const run = async (client: pg.ClientBase, facts: readonly Recorded[], within: boolean): Promise<boolean> => {
    const to = facts.reduce((last, { sequence }) => Math.max(last, sequence), 0);
    if (to <= at) return true;
    const touched = keyed(folding, facts);
    const keys = [...new Set(touched.map(({ key }) => key))];
    const check = keys.length === 0 ? none : [writer.select(keys)];
    const [changed, old] = (
      await sendAll(client, [...(within ? none : [start]), checkpoint(network, generation, { from: at, to }), ...check])
    ).slice(within ? 0 : 1);
    if (changed?.rowCount !== 1) {
      if (!within) await sendAll(client, [rollback]);
      return false;
    }
    const reported = generation.status === 'live' ? [notification(network, generation, to)] : none;
    const last = [...reported, ...(within ? none : [commit])];
    const answers = await sendChanges(client, { folding, writer, touched, before: writer.kept(old?.rows ?? []) }, last);
    if (!within) checkCommitted(answers.at(-1));
    at = to;
    return true;
  };
  return {
    position: () => at,
    apply: (client, facts) => run(client, facts, false),
    applyWithin: (client, facts) => run(client, facts, true),
  };
}

type Batch = Readonly<{
  folding: Folding;
  writer: Writer;
  touched: readonly Keyed[];
  before: ReadonlyMap<string, StoredRow>;
}>;

/** PostgreSQL writes the rows of one part while the next one is made ready. */
const rowsInPart = 250;
/** Characters of rows that are made and sent in one go. */
const textInPart = 128 * 1024;

/** Sends the changes of a batch, then the last statements; returns the answers to those. */
async function sendChanges(
  client: pg.ClientBase,
  { folding, writer, touched, before }: Batch,
  last: readonly Statement[],
): Promise<pg.QueryResult[]> {
  const past = createPastRows(folding);
  const rows = fold(folding, touched, { before, past });
  const parts = Array.from({ length: Math.ceil(rows.length / rowsInPart) }, (_, part) =>
    rows.slice(part * rowsInPart, (part + 1) * rowsInPart),
  );
  const sent: Promise<unknown>[] = [];
  for (const part of parts) {
    const sending = sendAll(client, writer.rows(part, before));
    // It is waited for below, but for a batch that fails before that.
    sending.catch(() => undefined);
    sent.push(sending);
    if (part !== parts.at(-1)) await yieldToOthers();
  }
  const following = createConsequences(folding, before);
  for (const part of parts) {
    following.add(part);
    if (part !== parts.at(-1)) await yieldToOthers();
  }
  let statements = [...writer.past(past)];
  let length = 0;
  for (const statement of writer.consequences(following.all())) {
    statements.push(statement);
    length += statement.rows?.length ?? 0;
    if (length < textInPart) continue;
    const sending = sendAll(client, statements);
    sending.catch(() => undefined);
    sent.push(sending);
    [statements, length] = [[], 0];
    await yieldToOthers();
  }
  const rest = sendAll(client, [...statements, ...last]);
  rest.catch(() => undefined);
  // Statements after a failed one fail too: the first failure is the cause.
  for (const one of sent) await one;
  return rest;
}

/**
 * Moves the checkpoint from where we left it, and takes back a stop: the first statement, so that a refusal costs
 * nothing.
 */
function checkpoint(network: string, one: Generation, { from, to }: { from: number; to: number }): Statement {
  return {
    name: `checkpoint.${network}`,
    text: `update ${metaSchema(network)}.generations set position = $1, stopped_at = null, stopped_reason = null
      where projection = $2 and generation = $3 and position = $4 and epoch = $5 and status = $6`,
    values: [to, one.projection, one.generation, from, one.epoch, one.status],
  };
}

/** Notifies readers that a projection has advanced; a hint only: a waiting reader reads the position again. */
export function notification(network: string, { projection, generation }: Generation, sequence: number): Statement {
  const payload = JSON.stringify({ p: projection, g: generation, s: sequence });
  return { name: 'notify', text: 'select pg_notify($1, $2)', values: [channelOf(network), payload] };
}

/** PostgreSQL answers COMMIT with ROLLBACK, and no error, when the transaction had failed. */
export function checkCommitted(answer: pg.QueryResult | undefined): void {
  if (answer?.command !== 'COMMIT') throw new Error(`PostgreSQL answered COMMIT with ${answer?.command ?? 'nothing'}`);
}
