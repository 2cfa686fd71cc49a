import { chmodSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { isAlive } from '../../../src/engine/servers/predecessor.ts';
import { readDurability } from '../../../src/engine/log/durability.ts';
import { type Servers, startServers } from '../../../src/engine/servers/servers.ts';
import { until } from '../../support/polling.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';

/** Addresses of servers that are not started then, and not asked either. */
const elsewhere = {
  'nats-server': { NATS_URL: 'nats://127.0.0.1:9' },
  PostgreSQL: { DB_DSN: 'postgres://127.0.0.1:9' },
};

type Running = Readonly<{ servers: Servers; pid: (file: string) => number; heard: (line: RegExp) => Promise<void> }>;

/** Embedded servers of the test's own, and what is logged about them. */
async function ownServers(external: Readonly<Record<string, string>>): Promise<Running> {
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o711);
  const own = { ...external, CHAIN_API_BASE: 'http://127.0.0.1:9' };
  const local = { LCD_PORT: '0', RPC_PORT: '0', GATEWAY_PORT: '0', EVM_HTTP_PORT: '0', EVM_WS_PORT: '0' };
  const free = { PORT: '0', NATS_PORT: '0', NATS_WS_PORT: '0', ...local };
  const config = parseConfig({ ...free, ...own, DATA_DIR: dataDir, NETWORK: 'servers' });
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const servers = await startServers(config, log, new AbortController().signal);
  onTestFinished(() => servers.stop());
  return {
    servers,
    pid: (file) => Number(readFileSync(path.join(dataDir, 'servers', file), 'utf8')),
    heard: async (line) => void (await until(`${line} is logged`, () => lines.some((one) => line.test(one)))),
  };
}

test('startServers tells where the nats-server can be asked about itself also after it had to be started again', async () => {
  const { servers, pid, heard } = await ownServers(elsewhere.PostgreSQL);
  const before = servers.nats.monitorUrl;
  process.kill(pid('nats/nats.pid'), 'SIGKILL');
  await heard(/embedded server is back/);
  expect(await readDurability(servers.nats.monitorUrl)).toBe('strict');
  expect(await readDurability(before)).toBe('unknown');
}, 60_000);

test.each([
  ['nats-server', 'nats/nats.pid', elsewhere.PostgreSQL],
  ['PostgreSQL', 'db/postgres.pid', elsewhere['nats-server']],
])(
  'stop() while %s is being started again leaves no server behind',
  async (name, file, external) => {
    const { servers, pid, heard } = await ownServers(external);
    const killed = pid(file);
    process.kill(killed, 'SIGKILL');
    await heard(new RegExp(`${name}.*starting it again`));
    await until('another process is being started', () => ![0, killed].includes(pid(file)));
    const begun = pid(file);
    await servers.stop();
    expect(isAlive(begun)).toBe(false);
  },
  60_000,
);
