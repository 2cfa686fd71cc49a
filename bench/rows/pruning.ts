import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { type StreamPolicies, streamTable } from '../../src/events/streams.ts';
import { agedArchive, freshStores } from '../../test/support/histories/aged-archive.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import type { AuditingInput, AuditingOutput } from '../auditing-process.ts';
import { bounded, type Measured } from '../bounded.ts';
import type { Context } from '../context.ts';
import type { Row } from '../row.ts';

/** Four times as fast as by default. */
const perSecond = 20_000;
const network = 'pruning';

/**
 * An archive of a million probes, of which the stream keeps 600,000, is compared and pruned: how long the loop of its
 * process is held up, and what memory it takes on top of a comparison of an empty stream. Exactly what is dropped goes.
 */
export function rows(context: Context): readonly Row[] {
  return bounded(network, () => measure(context), { 'loop-p999': ['ms', 50], memory: ['MB', 48] });
}

async function measure(context: Context): Promise<Measured<'loop-p999' | 'memory'>> {
  const age = { nodes: context.size(200, 2), probes: 5000 };
  const perEntity = 3000;
  const policies: StreamPolicies = { ...streamTable, PROBES: { ...streamTable.PROBES, keeps: { perEntity } } };
  const [nats, database] = [await context.nats('relaxed'), await context.postgres()];
  const nc = await connectNats({ ...nats, name: network });
  const pools = createPools(database.config, { applicationName: network });
  context.defer(async () => await Promise.allSettled([nc.close(), pools.end()]));
  const stores = await freshStores(nc, { network, pools, policies });
  await agedArchive(stores, age);
  context.say('the archive is filled');
  const { url, user, pass } = nats;
  const folder = await context.folder(network);
  const access = { nats: { url, user, pass }, postgres: database.config, network, policies, folder };
  // The first start of all compiles the thread's modules; the second shows what the thread itself takes.
  await audited({ access, stream: 'ACTIONS', perSecond });
  const idle = await audited({ access, stream: 'ACTIONS', perSecond });
  const { p999Ms, seconds, findings, grownMb } = await audited({ access, stream: 'PROBES', perSecond });
  const left = await stores.store.count('PROBES');
  if (findings.length > 0 || left !== age.nodes * perEntity)
    throw new Error(`${left} rows are left: ${findings.join('; ')}`);
  return {
    figures: { 'loop-p999': p999Ms, memory: grownMb - idle.grownMb },
    note: `in ${Math.round(seconds)} s; an empty stream takes ${Math.round(idle.grownMb)} MB`,
  };
}

/** A process of its own, so that its memory is that of the comparison alone. */
async function audited(input: AuditingInput): Promise<AuditingOutput> {
  const program = new URL('../auditing-process.ts', import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [...lean, program, JSON.stringify(input)]);
  return JSON.parse(stdout) as AuditingOutput;
}
