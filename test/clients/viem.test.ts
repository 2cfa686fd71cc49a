import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { developmentAccounts } from '../../src/edges/local-network/development-accounts.ts';
import { startProgram } from '../support/program.ts';

const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
const runFile = promisify(execFile);

test('viem sends a transfer and watches its receipt', async () => {
  const program = await startProgram({ network: 'local', env: { LOCAL_SUBNET: subnet } });
  await program.untilReady();
  const sender = developmentAccounts().findLast(({ key: { type } }) => type === 'eth_secp256k1');
  const key = `0x${Buffer.from(sender?.key.bytes ?? '').toString('hex')}`;
  const recipient = `0x${'5a'.repeat(20)}`;
  const script = path.join(import.meta.dirname, 'viem.mjs');
  const { 'json-rpc': evm = '' } = program.instance.urls;
  const { stdout } = await runFile(process.execPath, [script, evm, '76857769', key, recipient], { timeout: 60_000 });
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'success',
    gasUsed: '21000',
    isInBlock: true,
    moved: '1500000000000000000',
  });
});
