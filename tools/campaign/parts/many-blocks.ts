import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import { type Program, runProgram } from '../../../test/support/programs/run-program.ts';
import type { PartOptions, Tally } from '../part.ts';
import { openImport } from '../import-blocks.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';
import lean from '../../boot/lean.json' with { type: 'json' };

const network = 'local';
const env = { ROLES: 'ledger,projector,evm', LOCAL_OUTAGES: 'off' };
const readyWithinMs = 180_000;
/** The folder of a chain that was made before goes on, and is not removed: a million blocks may take several runs. */
const chosenDir = process.env['MANY_BLOCKS_DIR'];

/**
 * So many empty blocks imported into a chain, then three starts: how long each takes, what the main process
 * needs, and how many bytes an empty block leaves on the disk. Old states are refused, each thousandth and those of the
 * last thousand blocks are read. SIGUSR2 ends the making of blocks early; what is there is measured then.
 */
export async function run({ count, log }: PartOptions): Promise<Tally> {
  const dataDir = chosenDir ?? temporaryFolder();
  let isEnough = false;
  process.once('SIGUSR2', () => (isEnough = true));
  const start = async (roles: string): Promise<Program> => {
    const program = await runProgram({ dataDir, network, env: { ...env, ROLES: roles } });
    await program.untilReady(readyWithinMs);
    return program;
  };
  try {
    await (await start(env.ROLES)).stop();
    const stores = await start('projector,evm');
    await using imported = await openImport(stores, network);
    const before = { ...(await figuresOf(stores)), height: imported.height() };
    let reported = before.height;
    for (let now = before.height; now < before.height + count && !isEnough; now = imported.height()) {
      if (now - reported >= 5_000) log(`block ${(reported = now)}: ${JSON.stringify(await figuresOf(stores))}`);
      await imported.add();
    }
    const head = imported.height();
    while ((await height(stores)) < head) await pause(100);
    const after = await figuresOf(stores);
    const perBlock = (after.diskBytes - before.diskBytes) / (head - before.height);
    log(`${head} blocks, ${Math.round(perBlock)} bytes on the disk for each; ${JSON.stringify(after)}`);
    await readStates(stores, head);
    await stores.stop();
    for (let times = 0; times < 3; times += 1) {
      const began = performance.now();
      const again = await runProgram({ dataDir, network, env, nodeArguments: lean });
      while (!((await height(again).catch(() => 0)) >= head)) await pause(50);
      const startedMs = Math.round(performance.now() - began);
      await again.untilReady(readyWithinMs);
      log(`start to JSON-RPC ${startedMs} ms; ${JSON.stringify(await figuresOf(again))}`);
      await again.stop();
    }
    return { passed: head - before.height, failed: 0 };
  } finally {
    if (chosenDir === undefined) rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

async function ask({ instance }: Program, method: string, ...params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(instance.urls['json-rpc'] ?? '', { method: 'POST', headers, body });
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } };
  return error ? new Error(error.message) : result;
}

async function height(program: Program): Promise<number> {
  return Number(await ask(program, 'eth_blockNumber'));
}

async function readStates(program: Program, head: number): Promise<void> {
  const collector = `0x${'00'.repeat(19)}01`;
  const at = async (number: number): Promise<unknown> =>
    await ask(program, 'eth_getBalance', collector, `0x${number.toString(16)}`);
  for (const number of [head - 10, head - 900, Math.floor(head / 1_000 - 2) * 1_000])
    if (number >= 0 && typeof (await at(number)) !== 'string') throw new Error(`The state of block ${number} is gone`);
  if (head > 3_000 && !((await at(head - 2_001)) instanceof Error) && (head - 2_001) % 1_000 !== 0)
    throw new Error(`The state of block ${head - 2_001} is still read`);
}

/** Resident bytes of the main process, of its folder, and of the tables that grow with blocks. */
async function figuresOf({
  pid,
  folder,
  instance,
}: Program): Promise<Readonly<Record<string, number>> & { diskBytes: number }> {
  const resident = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  const client = new pg.Client(instance.postgres);
  await client.connect();
  const schema = metaSchema(network);
  const { rows } = await client.query<Record<string, string>>(
    `select pg_database_size(current_database()) as database, pg_total_relation_size('${schema}.evm_nodes') as nodes,
       pg_total_relation_size('${schema}.evm_headers') as headers, pg_total_relation_size('${schema}.archive') as archive,
       (select count(*) from ${schema}.evm_nodes) as node_rows`,
  );
  await client.end();
  const log = Number(execFileSync('du', ['-sb', `${folder}/nats`], { encoding: 'utf8' }).split('\t')[0]);
  const tables = Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, text]) => [name, Number(text)]));
  return {
    ...tables,
    memoryMb: Math.round(Number(resident) / 1024),
    log,
    diskBytes: (tables['database'] ?? 0) + log,
  };
}
