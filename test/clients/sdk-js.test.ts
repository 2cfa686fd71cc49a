import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { developmentAccounts } from '../../src/edges/local-network/development-accounts.ts';
import { localChainId } from '../../src/edges/local-network/beginning.ts';
import { startProgram } from '../support/programs/program.ts';
import { until } from '../support/polling.ts';

const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
const runFile = promisify(execFile);

test(
  'sdk-js 0.2.3, as it is published, registers, uploads, watches and downloads a file',
  { tags: ['S3.clients.sdk-js'] },
  async () => {
    const program = await startProgram({ network: 'local', env: { LOCAL_SUBNET: subnet, PUBLIC_DOWNLOADS: 'chain' } });
    const { rpc = '', gateway = '' } = program.instance.urls;
    await until('the gateway is ready', async () => (await fetch(`${gateway}/readyz`)).status === 200, 60_000);
    const key = developmentAccounts().find(({ key: { type } }) => type === 'secp256k1');
    const hex = Buffer.from(key?.key.bytes ?? '').toString('hex');
    const script = path.join(import.meta.dirname, 'sdk-js.mjs');
    const { stdout } = await runFile(process.execPath, [script, rpc, gateway, localChainId, hex], { timeout: 80_000 });
    const told = JSON.parse(stdout) as Record<string, unknown>;
    expect(told).toMatchObject({
      address: key?.account,
      task: { kind: 'upload', status: 'sdk:completed', file_name: 'upload.bin', file_size_kbs: 98 },
      size: 100_000,
      isSame: true,
    });
    expect(told['registrations']).toBeGreaterThan(0);
  },
);
