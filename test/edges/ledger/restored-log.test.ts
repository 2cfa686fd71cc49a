import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams, streamName } from '../../../src/engine/log/streams.ts';
import { catchUp, openChain } from '../../../src/edges/ledger/log-fold.ts';
import { runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { until } from '../../support/polling.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';
import { ask, cast, seed, send } from './ledger-under-test.ts';

const register = (creator: number) =>
  messagesOf(
    { kind: 'register', registrations: [{ id: creator, isSense: false, creator, lifetimeSeconds: 90_000 }] },
    { seed, cast, atMs: Date.now(), idOf: String },
  );

test('a ledger gives its log back the last blocks that it lost, to the letter, and goes on with it', async () => {
  const network = freshNetwork();
  await using nc = await opened();
  await ensureStreams(nc.connection, network);
  const lines: string[] = [];
  const ledger = await runLedger({
    execution: executeInMemory,
    log: createLog(nc.connection, network),
    beginning: () => localBeginning(seed, Date.now()),
    host: '127.0.0.1',
    lcdPort: 0,
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
    signal: new AbortController().signal,
  });
  let failure: unknown;
  ledger.failed.catch((caught: unknown) => (failure = caught));
  await send(ledger, register(0));
  await send(ledger, register(1));

  const { streams } = await jetstreamManager(nc.connection);
  const stream = streamName('LEDGER', network);
  const { state } = await streams.info(stream);
  const stored = await Promise.all(
    Array.from({ length: state.last_seq }, (_, at) => streams.getMessage(stream, { seq: at + 1 })),
  );
  // As the archive restores it, which had not taken in the last two.
  await streams.delete(stream);
  await ensureStreams(nc.connection, network);
  for (const one of stored.slice(0, -2)) if (one) await jetstream(nc.connection).publish(one.subject, one.data);
  await until('its last blocks are put back', async () => {
    const { state: now } = await streams.info(stream);
    return now.last_seq >= state.last_seq;
  });
  for (const one of stored.slice(-2)) {
    if (!one) throw new Error('The stream had no such event');
    const again = await streams.getMessage(stream, { seq: one.seq });
    expect(again?.json()).toEqual(one.json());
  }
  expect(lines.some((line) => line.includes('lost its end'))).toBe(true);

  expect(await send(ledger, register(2))).toMatchObject({ code: 0 });
  const { body } = await ask(ledger, '/LumeraProtocol/lumera/action/v1/list_actions');
  expect(body).toMatchObject({ total: '3' });
  expect(failure).toBeUndefined();
  await ledger.stop();
});

async function opened() {
  const connection = await connectNats({ ...testNats(), name: 'ledger test' });
  return { connection, [Symbol.asyncDispose]: () => connection.close() };
}

test('whoever reads on to an end that the log has lost meanwhile is not held up by it for ever', async () => {
  const network = freshNetwork();
  await using nc = await opened();
  await ensureStreams(nc.connection, network);
  const log = createLog(nc.connection, network);
  const { signal } = new AbortController();
  const beginning = () => localBeginning(seed, Date.now());
  const chain = await openChain(log, { beginning, execution: executeInMemory }, signal);
  const last: typeof log.last = async (...asked) => {
    const stored = await log.last(...asked);
    return new Map([...stored].map(([entity, one]) => [entity, { ...one, sequence: one.sequence + 1 }]));
  };
  await expect(catchUp(chain, { ...log, last }, { signal, withinMs: 100 })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
});
