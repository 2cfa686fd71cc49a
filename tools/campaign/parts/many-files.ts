import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { SupernodeService } from '../../../src/edges/gen/supernode/supernode_pb.ts';
import { startNodesChild } from '../../../src/edges/local-network/nodes/child.ts';
import { encodeStored } from '../../../src/edges/node/storage/manifest.ts';
import { hashPiece } from '../../../src/edges/node/storage/piece-hash.ts';
import type { KilledNode } from '../../../test/edges/node/killed-register.ts';
import { openLedgerWorld } from '../../../test/support/chains/ledger-world.ts';
import { until } from '../../../test/support/polling.ts';
import type { PartOptions, Tally } from '../part.ts';

const files = 20_000;
const descriptors = 1_024;
const calls = 1_000;
const idleMs = 60_000;
const bounds = { startMs: 3_000, p99Ms: 10, idlePercent: 2 } as const;

const program = path.join(import.meta.dirname, '../../../src/edges/local-network/nodes/process.ts');

/**
 * A SuperNode with 20,000 files in a process that may open 1,024: how soon its ports are open and its files are known,
 * how long GetStatus takes, and how much of a core it uses when nobody asks.
 */
export async function run({ count, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  for (let turn = 0; turn < count; turn += 1) {
    const within = await measure(log);
    tally[within ? 'passed' : 'failed'] += 1;
  }
  return tally;
}

async function measure(log: PartOptions['log']): Promise<boolean> {
  await using undo = new AsyncDisposableStack();
  const { ledger, node, folder }: KilledNode = await openLedgerWorld(undo);
  await fill(path.join(folder, 'storage'), node.account.account);
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, Buffer.from(node.account.key.bytes).toString('hex'));
  const limited = `ulimit -n ${descriptors} && exec "${process.execPath}" "${program}"`;
  const limitedProcess = spawn('sh', ['-c', limited], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const child = await startNodesChild(
    {
      chainUrl: ledger.url,
      profile: { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' },
      version: '1.0.0',
      snapshotMs: 100,
      secure: false,
      files: { storageBytes: -1, maxFileBytes: 2 ** 30, copies: 3, repairAfterMs: 600_000, allowPrivate: true },
      log: { level: 'warn', format: 'json' },
    },
    limitedProcess,
  );
  undo.defer(child.stop);
  const beganMs = performance.now();
  const host = '127.0.0.1';
  const { grpc } = await child.start({ host, ports: { grpc: 0, p2p: 0, http: 0 }, folder, keyFile });
  const openMs = performance.now() - beganMs;
  await until('all files are known', async () => (await child.observe())[0]?.state?.files === files);
  const startMs = performance.now() - beganMs;
  const p99Ms = await p99Of(`http://${host}:${grpc}`);
  const idlePercent = await idleOf(child.pid ?? 0);
  const [opened, known, p99, idle] = [openMs, startMs, p99Ms, idlePercent].map((figure) => figure.toFixed(1));
  log(`ports open after ${opened} ms, ${files} files known after ${known} ms; GetStatus p99 ${p99} ms; idle ${idle} %`);
  return startMs <= bounds.startMs && p99Ms <= bounds.p99Ms && idlePercent <= bounds.idlePercent;
}

/** Finalized files of one piece each, as a node of their group has written them down. */
async function fill(folder: string, account: string): Promise<void> {
  await mkdir(path.join(folder, 'files'), { recursive: true });
  for (let action = 1; action <= files; action += 1) {
    const bytes = Buffer.from(`the bytes of file ${action}`);
    const hash = hashPiece(bytes);
    const shard = path.join(folder, 'pieces', hash.slice(0, 2));
    await mkdir(shard, { recursive: true });
    await writeFile(path.join(shard, hash), bytes);
    const manifest = { actionId: String(action), dataHash: 'h'.repeat(44), size: bytes.length, pieces: [hash] };
    const group = [account, ...Array.from({ length: 9 }, (_, at) => `lumera1${String(at).repeat(38)}`)];
    const kept = encodeStored({ ...manifest, isFinalized: true, group });
    await writeFile(path.join(folder, 'files', String(action)), kept);
  }
}

async function p99Of(baseUrl: string): Promise<number> {
  const client = createClient(SupernodeService, createGrpcTransport({ baseUrl }));
  const took: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    const beganMs = performance.now();
    await client.getStatus({ includeP2pMetrics: true });
    took.push(performance.now() - beganMs);
    await delay(10);
  }
  return took.toSorted((a, b) => a - b)[Math.floor(calls * 0.99)] ?? Number.POSITIVE_INFINITY;
}

/** Of one core, while nobody asks. */
async function idleOf(pid: number): Promise<number> {
  const before = await cpuTicksOf(pid);
  await delay(idleMs);
  const ticksASecond = 100;
  return (100 * ((await cpuTicksOf(pid)) - before)) / ticksASecond / (idleMs / 1000);
}

async function cpuTicksOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(words[11]) + Number(words[12]);
}
