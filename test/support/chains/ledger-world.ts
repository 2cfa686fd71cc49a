import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { type Ledger, runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../histories/memory-nodes.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { castOf, type RealNode } from '../../../src/edges/local-network/cast.ts';
import { registerNodes } from '../../../src/edges/local-network/local-network.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { freshFolder } from '../programs/fresh-folder.ts';

const host = '127.0.0.1';
/** The people of the node tests. */
const castSeed = 7;
const network = 'world';

/** A ledger on a broker of its own with one SuperNode on its list, and a folder for the node. */
export type LedgerWorld = Readonly<{ ledger: Ledger; node: RealNode; folder: string }>;

/** Opens such a world; it ends with the stack, and nothing of it is left. */
export async function openLedgerWorld(undo: AsyncDisposableStack): Promise<LedgerWorld> {
  const { folder: top, remove } = freshFolder();
  undo.defer(remove);
  const say = (): void => undefined;
  const nats = await startNats({ dir: path.join(top, 'nats'), host, port: 0, wsPort: 0, ephemeral: true, say });
  undo.defer(async () => await nats.stop());
  const connection = await connectNats({ ...nats, name: 'world' });
  undo.defer(async () => await connection.close());
  await ensureStreams(connection, network);
  const ledger = await runLedger({
    execution: executeInMemory,
    log: createLog(connection, network),
    beginning: () => localBeginning(castSeed, Date.now()),
    host,
    lcdPort: 0,
    logger: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  });
  undo.defer(ledger.stop);
  const [node] = castOf(castSeed).realNodes;
  if (!node) throw new Error('The cast has nodes');
  await registerNodes(ledger, [node]);
  const folder = path.join(top, 'node');
  await mkdir(folder);
  return { ledger, node, folder };
}
