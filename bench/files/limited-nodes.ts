import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startNodesChild } from '../../src/edges/local-network/nodes/child.ts';
import { encodeStored } from '../../src/edges/node/storage/manifest.ts';
import { hashPiece } from '../../src/edges/node/storage/piece-hash.ts';

const descriptors = 1_024;
const program = path.join(import.meta.dirname, '../../src/edges/local-network/nodes/process.ts');

/** Starts a process of nodes that may have no more than 1,024 descriptors. */
export async function startLimitedNodes(chainUrl: string) {
  const limited = `ulimit -n ${descriptors} && exec "${process.execPath}" "${program}"`;
  const limitedProcess = spawn('sh', ['-c', limited], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const plan = {
    chainUrl,
    profile: { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' },
    version: '1.0.0',
    snapshotMs: 100,
    secure: false,
    files: { storageBytes: -1, maxFileBytes: 2 ** 30, copies: 3, repairAfterMs: 600_000, allowPrivate: true },
    log: { level: 'warn', format: 'json' },
  } as const;
  return await startNodesChild(plan, limitedProcess);
}

/** Writes finalized files of one piece each, as a node of their group has written them down. */
export async function fillStorage(folder: string, account: string, files: number): Promise<void> {
  await mkdir(path.join(folder, 'files'), { recursive: true });
  for (let action = 1; action <= files; action += 1) {
    const bytes = Buffer.from(`the bytes of file ${action}`);
    const hash = hashPiece(bytes);
    const shard = path.join(folder, 'pieces', hash.slice(0, 2));
    await mkdir(shard, { recursive: true });
    await writeFile(path.join(shard, hash), bytes);
    const manifest = { actionId: String(action), dataHash: 'h'.repeat(44), size: bytes.length, pieces: [hash] };
    const group = [account, ...Array.from({ length: 9 }, (_, at) => `lumera1${String(at).repeat(38)}`)];
    const stored = encodeStored({ ...manifest, isFinalized: true, group });
    await writeFile(path.join(folder, 'files', String(action)), stored);
  }
}
