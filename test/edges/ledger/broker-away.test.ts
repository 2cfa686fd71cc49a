import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLeases } from '../../../src/engine/log/leases.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import { ask, cast, seed, send, silent } from './ledger-under-test.ts';
import { steadyPort } from '../../support/programs/steady-port.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const register = (creator: number) =>
  messagesOf(
    { kind: 'register', registrations: [{ id: creator, isSense: false, creator, lifetimeSeconds: 90_000 }] },
    { seed, cast, atMs: Date.now(), idOf: String },
  );

test('what is submitted while the broker is away is sealed once when it is back', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'annals-ledger-'));
  folders.push(dir);
  const [port, wsPort] = [await steadyPort(), await steadyPort()];
  const start = () => startNats({ dir, host: '127.0.0.1', port, wsPort, say: () => undefined });
  const first = await start();
  const nc = await connectNats({ url: first.url, user: first.user, pass: first.pass, name: 'ledger test' });
  await ensureStreams(nc, 'local');
  const { signal } = new AbortController();
  const ledger = await runLedger({
    execution: executeInMemory,
    log: createLog(nc, 'local'),
    leases: createLeases(nc, 'local'),
    beginning: () => localBeginning(seed, Date.now()),
    host: '127.0.0.1',
    lcdPort: 0,
    logger: silent,
    signal,
  });
  await send(ledger, register(0));
  await first.stop();
  const waiting = [1, 2, 3].map((creator) => send(ledger, register(creator)));
  const second = await start();
  const sealed = await Promise.all(waiting);
  expect(sealed.map(({ code }) => code)).toEqual([0, 0, 0]);
  const { body } = await ask(ledger, '/LumeraProtocol/lumera/action/v1/list_actions');
  expect(body).toMatchObject({ total: '4' });
  expect(ledger.status().transactions).toBe(4);
  await ledger.stop();
  await nc.close();
  await second.stop();
});
