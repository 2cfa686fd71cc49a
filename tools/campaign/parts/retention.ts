import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { agedArchive, freshStores } from '../../../test/support/histories/aged-archive.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { startPostgres } from '../../../src/engine/servers/postgres/postgres.ts';
import { type StreamPolicies, streamTable } from '../../../src/events/streams.ts';
import type { AuditingInput, AuditingOutput } from '../auditing-process.ts';
import type { PartOptions, Tally } from '../part.ts';
import lean from '../../boot/lean.json' with { type: 'json' };
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';

/** A million probes are archived, of which the stream keeps 600,000. */
const age = { nodes: 200, probes: 5000 };
const keptPerNode = 3000;
/** Four times as fast as by default. */
const perSecond = 20_000;
/** Memory is what comes on top of a comparison of an empty stream. */
const limits = { p999Ms: 50, grownMb: 48 };
const network = 'retention';
const policies: StreamPolicies = {
  ...streamTable,
  PROBES: { ...streamTable.PROBES, keeps: { perEntity: keptPerNode } },
};

/**
 * An archive that is compared and pruned while its process serves: the loop goes on, memory stays, and exactly what is
 * dropped goes.
 */
export async function run({ count, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  for (let time = 0; time < count; time++) {
    const problems = await once(log);
    for (const problem of problems) log(problem);
    tally[problems.length === 0 ? 'passed' : 'failed'] += 1;
  }
  return tally;
}

async function once(log: (line: string) => void): Promise<string[]> {
  const folder = temporaryFolder();
  const own = { host: '127.0.0.1', port: 0, wsPort: 0, ephemeral: true, say: log };
  const nats = await startNats({ dir: path.join(folder, 'nats'), ...own });
  const database = await startPostgres({ dir: path.join(folder, 'db'), ephemeral: true, say: log });
  const nc = await connectNats({ ...nats, name: 'campaign' });
  const pools = createPools(database.config, { applicationName: 'campaign' });
  try {
    const stores = await freshStores(nc, { network, pools, policies });
    await agedArchive(stores, age);
    log('the archive is filled');
    const { url, user, pass } = nats;
    const access = { nats: { url, user, pass }, postgres: database.config, network, policies, folder };
    // The first start of all compiles the thread's modules; the second shows what the thread itself takes.
    await audited({ access, stream: 'ACTIONS', perSecond });
    const idle = await audited({ access, stream: 'ACTIONS', perSecond });
    const { p999Ms, seconds, findings, ...aged } = await audited({ access, stream: 'PROBES', perSecond });
    const grownMb = aged.grownMb - idle.grownMb;
    log(
      `p99.9 ${p999Ms.toFixed(1)} ms, ${grownMb.toFixed(0)} MB beyond the ${idle.grownMb.toFixed(0)} of an empty stream, ` +
        `in ${seconds.toFixed(0)} s`,
    );
    const left = await stores.store.count('PROBES');
    return [
      ...findings,
      ...(left === age.nodes * keptPerNode ? [] : [`${left} rows are left`]),
      ...(p999Ms < limits.p999Ms ? [] : [`the loop was held up for ${p999Ms} ms`]),
      ...(grownMb <= limits.grownMb ? [] : [`memory grew by ${grownMb} MB`]),
    ];
  } finally {
    await Promise.allSettled([nc.close(), pools.end()]);
    await Promise.allSettled([nats.stop(), database.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A process of its own, so that its memory is that of the comparison alone. */
async function audited(input: AuditingInput): Promise<AuditingOutput> {
  const program = new URL('../auditing-process.ts', import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [...lean, program, JSON.stringify(input)]);
  return JSON.parse(stdout) as AuditingOutput;
}
