import { toAppError } from '../kit/errors.ts';
import { configFromEnvironment, type Config } from '../config.ts';
import { cacheFolder } from '../engine/servers/commands.ts';
import { findNats } from '../engine/servers/nats/fetch-nats.ts';
import { POSTGRES_MAJOR, postgresBinaries } from '../engine/servers/postgres/postgres-binaries.ts';
import { dataFolder, findInstance } from '../engine/servers/instance.ts';
import { assertPortsFree, plannedPorts } from '../roles/ports.ts';
import { print, table } from './output.ts';

type Finding = Readonly<{ what: string; ok: boolean; found: string }>;

/**
 * `annals doctor`: the settings of a start, the source of each, and what would prevent it. Changes nothing; exit status
 * 1 when something would.
 */
export async function doctor({ json }: { json: boolean }): Promise<void> {
  const config = configFromEnvironment();
  const findings = await Promise.all([
    finding('Node', async () => `${process.version} at ${process.execPath}`),
    finding('nats-server', () => natsServer(config)),
    finding('PostgreSQL', () => postgres(config)),
    finding('data', async () => dataFolder(config)),
    finding('cache', async () => cacheFolder()),
    finding('instance', () => instanceOrPorts(config)),
    finding('chain', () => chain(config)),
  ]);
  print(findings, {
    json,
    human: () =>
      table(
        ['', 'WHAT', 'FOUND'],
        findings.map(({ what, ok, found }) => [ok ? 'ok' : '!!', what, found]),
      ),
  });
  if (findings.some(({ ok }) => !ok)) process.exitCode = 1;
}

async function finding(what: string, check: () => Promise<string>): Promise<Finding> {
  try {
    return { what, ok: true, found: await check() };
  } catch (caught) {
    return { what, ok: false, found: toAppError(caught).message };
  }
}

async function natsServer(config: Config): Promise<string> {
  if (config.natsUrl !== undefined) return 'external (NATS_URL)';
  const program = await findNats();
  return program
    ? `${program.version} from ${program.from} at ${program.file}`
    : 'none yet; the first start fetches one';
}

async function postgres(config: Config): Promise<string> {
  if (config.dbDsn !== undefined) return 'external (DB_DSN)';
  return `${POSTGRES_MAJOR} at ${await postgresBinaries()}`;
}

async function instanceOrPorts(config: Config): Promise<string> {
  const running = await findInstance(config).catch(() => undefined);
  if (running) return `network ${running.network} runs as process ${running.pid}: ${running.urls.start ?? ''}`;
  await assertPortsFree(plannedPorts(config));
  return 'none runs; every port that a start opens is free';
}

async function chain({ chainApiBase }: Config): Promise<string> {
  if (chainApiBase === undefined) return 'the local network (CHAIN_API_BASE is unset)';
  const response = await fetch(`${chainApiBase}/cosmos/base/tendermint/v1beta1/node_info`, {
    signal: AbortSignal.timeout(5000),
  });
  const info = (await response.json()) as { default_node_info?: { network?: string } };
  return `${info.default_node_info?.network ?? 'no chain id'} answers with ${response.status} at ${chainApiBase}`;
}
