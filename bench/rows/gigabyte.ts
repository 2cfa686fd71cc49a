import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDataHasher } from '../../src/edges/chain/files/data-hash.ts';
import { startNodesChild } from '../../src/edges/local-network/nodes/child.ts';
import { pendingFile } from '../../test/edges/node/files-under-test.ts';
import { chunkMessage, downloadByGrpc, uploadByGrpc } from '../../test/support/callers/grpc-files.ts';
import { openLedgerWorld } from '../../test/support/chains/ledger-world.ts';
import { type Context, once } from '../context.ts';
import type { Row } from '../row.ts';

const chunkBytes = 4 * 2 ** 20;
const sampleEachMs = 100;
const mib = 2 ** 20;

type Moved = Readonly<{ up: number; down: number; grownMib: number }>;

/** A file of 1 GiB through Register and Download of a node: how fast, and by how much the node's memory grows. */
export function rows(context: Context): readonly Row[] {
  const moved = once(() => move(context, context.size(2 ** 30, 2 ** 24)));
  const row = (name: string, figure: keyof Moved, rest: Pick<Row, 'unit' | 'better' | 'target'>): Row => ({
    ...rest,
    name,
    peerName: null,
    measure: async () => ({ ours: (await moved())[figure], peer: null, ratio: null }),
  });
  return [
    row('gigabyte-register', 'up', { unit: 'MB/s', better: 'higher', target: { ours: 100 } }),
    row('gigabyte-download', 'down', { unit: 'MB/s', better: 'higher', target: {} }),
    row('gigabyte-memory', 'grownMib', { unit: 'MiB', better: 'lower', target: { ours: 128 } }),
  ];
}

async function move(context: Context, size: number): Promise<Moved> {
  const { address, pid, ledger } = await startStoringNode(context);
  const warm = await fileOf(chunkBytes, 1);
  const moveOne = async (file: Made): Promise<{ upMs: number; downMs: number }> => {
    const actionId = await pendingFile(ledger, file);
    const began = performance.now();
    const events = await uploadByGrpc(address, actionId, file.messages());
    const upMs = performance.now() - began;
    if (events.at(-1)?.txHash === '') throw new Error('The file was not finalized');
    const hasher = await createDataHasher();
    await downloadByGrpc(address, actionId, (bytes) => hasher.update(bytes));
    const downMs = performance.now() - began - upMs;
    if (hasher.digest() !== file.dataHash) throw new Error('Other bytes came back than were sent');
    return { upMs, downMs };
  };
  await moveOne(warm);
  const before = await residentMib(pid);
  let most = before;
  const sampling = setInterval(() => void residentMib(pid).then((now) => (most = Math.max(most, now))), sampleEachMs);
  try {
    const { upMs, downMs } = await moveOne(await fileOf(size, 2));
    const megabytes = size / 1e6;
    context.say(`1 GiB: ${Math.round(before)} MiB before, ${Math.round(most)} MiB at most`);
    return { up: (megabytes * 1000) / upMs, down: (megabytes * 1000) / downMs, grownMib: most - before };
  } finally {
    clearInterval(sampling);
  }
}

type Made = Readonly<{ size: number; dataHash: string; messages: () => Iterable<Uint8Array> }>;

/** A file that is made as it is sent: each chunk differs from the others. */
async function fileOf(size: number, seed: number): Promise<Made> {
  const chunk = Buffer.alloc(chunkBytes, seed);
  function* chunks(): Generator<Buffer> {
    for (let at = 0; at < size; at += chunkBytes) {
      for (let piece = 0; piece < chunkBytes; piece += mib) chunk.writeUInt32LE(at / mib + piece / mib, piece);
      yield chunk.subarray(0, Math.min(chunkBytes, size - at));
    }
  }
  const hasher = await createDataHasher();
  for (const bytes of chunks()) {
    hasher.update(bytes);
    // The ledger runs in this process, and answers others meanwhile.
    await nextTurn();
  }
  return {
    size,
    dataHash: hasher.digest(),
    messages: function* () {
      for (const bytes of chunks()) yield chunkMessage(bytes);
    },
  };
}

async function startStoringNode(context: Context) {
  const undo = new AsyncDisposableStack();
  context.defer(() => undo.disposeAsync());
  const { ledger, node, folder } = await openLedgerWorld(undo);
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, Buffer.from(node.account.key.bytes).toString('hex'));
  const child = await startNodesChild({
    chainUrl: ledger.url,
    profile: { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' },
    version: '0.0.0',
    snapshotMs: 30_000,
    secure: false,
    files: { storageBytes: -1, maxFileBytes: 2 ** 30, copies: 1, repairAfterMs: 600_000, allowPrivate: true },
    log: { level: 'error', format: 'json' },
  });
  undo.defer(child.stop);
  const host = '127.0.0.1';
  const { grpc } = await child.start({ host, ports: { grpc: 0, p2p: 0, http: 0 }, folder, keyFile });
  return { address: `${host}:${grpc}`, pid: child.pid ?? 0, ledger };
}

/** What of a process lies in memory, as Linux tells it. */
async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
  if (kib === undefined) throw new Error('Memory of a process is read on Linux only');
  return Number(kib) / 1024;
}
