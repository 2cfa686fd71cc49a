import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { createDataHasher } from '../../src/edges/cascade/data-hash.ts';
import { registrationMetadata } from '../../src/edges/cascade/registration.ts';
import { signText } from '../../src/edges/cascade/signatures.ts';
import { developmentAccounts } from '../../src/edges/local-network/development-accounts.ts';
import { until } from '../support/polling.ts';
import { expectCatalogue } from './json-rpc-catalogue.ts';
import { type Program, startProgram } from '../support/program.ts';

const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
const runFile = promisify(execFile);
const chainId = '76857769';

type Json = Record<string, unknown>;

let program: Program;
beforeAll(async () => {
  program = await startProgram({ network: 'local', env: { LOCAL_SUBNET: subnet, EVM_BLOCK_TIME: '2s' } });
  await program.untilReady();
}, 120_000);

const person = (index: number) => {
  const found = developmentAccounts().find((one) => one.index === index && one.key.type === 'eth_secp256k1');
  if (!found) throw new Error('There is no such account');
  return { ...found, hexKey: `0x${Buffer.from(found.key.bytes).toString('hex')}` };
};

async function drive(script: string, ...given: string[]): Promise<Json> {
  const { 'json-rpc': evm = '' } = program.instance.urls;
  const file = path.join(import.meta.dirname, script);
  const { stdout } = await runFile(process.execPath, [file, evm, chainId, ...given], { timeout: 60_000 });
  return JSON.parse(stdout) as Json;
}

test('viem sends a transfer and watches its receipt', async () => {
  expect(await drive('viem.mjs', person(9).hexKey, `0x${'5a'.repeat(20)}`)).toMatchObject({
    status: 'success',
    gasUsed: '21000',
    isInBlock: true,
    moved: '1500000000000000000',
  });
});

test('an action that viem registers is indexed, and its file is stored and fetched', async () => {
  const { key, hexKey } = person(8);
  const bytes = randomBytes(300_000);
  const hasher = await createDataHasher();
  hasher.update(bytes);
  const dataHash = hasher.digest();
  const file = { dataHash, fileName: 'from a wallet.bin', isPublic: false, counter: 5, ids: 6 };
  const { signatures } = registrationMetadata(key, file);
  const registered = await drive('contracts.mjs', hexKey, dataHash, signatures, '5', '293');
  expect(registered).toMatchObject({
    status: 'success',
    event: 'ActionRequested',
    action: { actionType: 2, state: 1 },
  });
  expect(registered['refused']).toMatch(/only the creator .* can approve action/);

  const { id, hash, height } = registered as Readonly<{ id: string; hash: string; height: number }>;
  const action = async (): Promise<Json> => {
    const answer = await fetch(`${program.base}/v1/actions/${id}?include_transactions=true`);
    return (await answer.json()) as Json;
  };
  await until('the action is indexed', async () => (await action())['id'] === id, 60_000);
  const register = { tx_hash: hash.slice(2).toUpperCase(), height };
  expect(await action()).toMatchObject({ height, data_hash: dataHash, transactions: { register } });
  await expectMoved({ id, bytes, forUpload: signText(key, dataHash), forDownload: signText(key, id) });
});

test('the chain REST shows the catalogue of the JSON-RPC, with the address that it can be tried at', async () => {
  await expectCatalogue(program.instance.urls);
});

type Moved = Readonly<{ id: string; bytes: Buffer<ArrayBuffer>; forUpload: string; forDownload: string }>;

/** The file of an action goes to the SuperNodes through the gateway, and comes back the same. */
async function expectMoved({ id, bytes, forUpload, forDownload }: Moved): Promise<void> {
  const gateway = program.instance.urls['gateway'] ?? '';
  const form = new FormData();
  form.append('action_id', id);
  form.append('signature', forUpload);
  form.append('file', new Blob([bytes]), 'from a wallet.bin');
  const upload = await task(`${gateway}/api/v1/actions/cascade`, { body: form });
  await completed(`${gateway}/api/v1/actions/cascade/tasks/${upload}`);
  const body = JSON.stringify({ signature: forDownload });
  const headers = { 'content-type': 'application/json' };
  const download = await task(`${gateway}/api/v1/actions/cascade/${id}/downloads`, { body, headers });
  await completed(`${gateway}/api/v1/downloads/cascade/${download}`);
  const back = await fetch(`${gateway}/api/v1/downloads/cascade/${download}/file`);
  expect(Buffer.from(await back.arrayBuffer()).equals(bytes)).toBe(true);
}

async function task(url: string, init: RequestInit): Promise<string> {
  const answer = await fetch(url, { method: 'POST', ...init });
  const { task_id: id, error } = (await answer.json()) as Json;
  expect([answer.status, error]).toEqual([202, undefined]);
  return String(id);
}

async function completed(url: string): Promise<void> {
  const last = async (): Promise<unknown> => {
    const history = (await (await fetch(`${url}/history`)).json()) as Json[];
    return history.at(-1)?.['status'];
  };
  await until('the task has ended', async () => /^sdk:(completed|failed)$/.test(String(await last())), 60_000);
  expect(await last()).toBe('sdk:completed');
}
