import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Program, runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import { chunkBytes, moveOne, person } from './gateway-transfers.ts';

const sampleEachMs = 100;

/** A gateway that has a process for itself. */
export type GatewayApart = Readonly<{
  /** The addresses of its network, but for the gateway's, which is its own. */
  urls: Program['instance']['urls'];
  /** Its memory at most during some work, beyond what it has before, in MiB. */
  growth: <T>(work: () => Promise<T>) => Promise<readonly [T, mib: number]>;
  stop: () => Promise<unknown>;
}>;

/** Starts a gateway over the stores and the chain of a local network that runs, and has it move a first file. */
export async function startGatewayApart(network: Program, name: string): Promise<GatewayApart> {
  const { nats, postgres, urls } = network.instance;
  const dataDir = path.join(network.dataDir, name);
  await mkdir(dataDir);
  const keyFile = path.join(dataDir, 'key');
  await writeFile(keyFile, Buffer.from(person().key.bytes).toString('hex'), { mode: 0o600 });
  const broker = new URL(nats.url.includes('://') ? nats.url : `nats://${nats.url}`);
  Object.assign(broker, { username: nats.user ?? '', password: nats.pass ?? '' });
  const place = new URLSearchParams({ host: String(postgres.host), port: String(postgres.port) });
  const env = {
    ROLES: 'gateway',
    CHAIN_API_BASE: urls['chain'] ?? '',
    NATS_URL: broker.href,
    DB_DSN: `postgres://${String(postgres.user)}@localhost/${String(postgres.database)}?${place.toString()}`,
    GATEWAY_KEY_FILE: keyFile,
    NODE_PORTS: 'registered',
    PROBE_PRIVATE_ADDRESSES: 'allow',
  };
  const program = await runProgram({ dataDir, env, nodeArguments: lean });
  await program.untilReady();
  const own = { ...urls, ...program.instance.urls, chain: env.CHAIN_API_BASE };
  await moveOne(own, chunkBytes);
  return { urls: own, growth: async (work) => await growthOf(program.pid, work), stop: program.stop };
}

async function growthOf<T>(pid: number, work: () => Promise<T>): Promise<readonly [T, number]> {
  const before = await residentMib(pid);
  let most = before;
  const sampling = setInterval(() => void residentMib(pid).then((now) => (most = Math.max(most, now))), sampleEachMs);
  try {
    return [await work(), most - before];
  } finally {
    clearInterval(sampling);
  }
}

/** Memory of a process that is its own, in MiB. */
export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
