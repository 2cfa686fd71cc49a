import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { createDataHasher } from '../../src/edges/chain/files/data-hash.ts';
import { registrationMetadata } from '../../src/edges/chain/files/registration.ts';
import { signText } from '../../src/edges/chain/files/signatures.ts';
import { developmentAccounts } from '../../src/edges/local-network/development-accounts.ts';
import { until } from '../support/polling.ts';
import { temporaryFolder } from '../support/programs/processes.ts';
import { expectCatalogue } from './json-rpc-catalogue.ts';
import { type Program, startProgram } from '../support/programs/program.ts';

const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
const runFile = promisify(execFile);
const chainId = '76857769';

type Json = Record<string, unknown>;

let program: Program;
beforeAll(async () => {
  program = await startProgram({ network: 'local', env: { LOCAL_SUBNET: subnet, EVM_BLOCK_TIME: '2s' } });
  await program.untilReady();
});

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

/** What every library sees of the counter, and of a transaction that another one replaces. */
const counted = { value: '42', refusal: 'Nothing' };
const liveUrl = (): string => program.instance.urls['json-rpc ws'] ?? '';

test('viem sends, deploys, calls, watches and replaces', { tags: ['S1.evm.tools'] }, async () => {
  expect(await drive('viem.mjs', person(9).hexKey, liveUrl())).toMatchObject({
    ...counted,
    status: 'success',
    gasUsed: '21000',
    isInBlock: true,
    moved: '1500000000000000000',
    watched: '42',
    replaced: ['replaced', true],
  });
});

test('ethers deploys, calls, watches and replaces', { tags: ['S1.evm.tools'] }, async () => {
  const { hexKey, hex } = person(7);
  expect(await drive('ethers.mjs', hexKey, liveUrl())).toMatchObject({
    ...counted,
    chainId,
    status: 1,
    logs: [['Increased', '42']],
    watched: { by: expect.stringMatching(new RegExp(hex, 'i')), amount: '37', value: '42' },
    replaced: ['TRANSACTION_REPLACED', true],
    moved: '6',
  });
});

test('web3 deploys, calls, watches and replaces', { tags: ['S1.evm.tools'] }, async () => {
  expect(await drive('web3.mjs', person(6).hexKey, liveUrl())).toMatchObject({
    ...counted,
    event: '42',
    watched: { isNext: true, topics: 2 },
    replaced: ['1', null],
    moved: '6',
  });
});

test(
  'Hardhat builds the example and deploys it with viem, with ethers, and once with Ignition',
  { tags: ['S1.evm.tools'] },
  async () => {
    const folder = temporaryFolder();
    await cp(path.join(import.meta.dirname, '../../examples/hardhat'), folder, { recursive: true });
    const packages = path.join(import.meta.dirname, 'node_modules');
    await symlink(packages, path.join(folder, 'node_modules'));
    const cli = path.join(packages, 'hardhat/dist/src/cli.js');
    const hardhat = async (by: number, ...given: string[]): Promise<string> => {
      const words = [cli, ...given, '--network', 'annals'];
      const env = {
        ...process.env,
        ANNALS_RPC: program.instance.urls['json-rpc'],
        ANNALS_KEY: person(by).hexKey,
        HARDHAT_IGNITION_CONFIRM_DEPLOYMENT: 'false',
      };
      return (await runFile(process.execPath, words, { cwd: folder, env, timeout: 60_000 })).stdout;
    };
    const lines = (await hardhat(5, 'run', 'scripts/count.js')).trim().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
      viem: { value: '42', event: '42' },
      ethers: { value: '42', refusal: 'Nothing' },
    });
    const deploy = ['ignition', 'deploy', 'ignition/modules/Counter.js'];
    const address = /Counter#Counter - (0x[0-9a-fA-F]{40})/;
    const [, deployed] = address.exec(await hardhat(4, ...deploy)) ?? [];
    const again = await hardhat(4, ...deploy);
    expect(again).toContain('Nothing new to deploy');
    expect([deployed?.length, address.exec(again)?.[1]]).toEqual([42, deployed]);
  },
);

test(
  'an action that viem registers is indexed, and its file is stored and fetched',
  { tags: ['S1.evm.contracts', 'S1.evm.hashes'] },
  async () => {
    const { account, key, hexKey } = person(8);
    const bytes = randomBytes(300_000);
    const hasher = await createDataHasher();
    hasher.update(bytes);
    const dataHash = hasher.digest();
    const file = { dataHash, fileName: 'from a wallet.bin', isPublic: false, counter: 5, ids: 6 };
    const { signatures } = registrationMetadata(key, file);
    const list = `${program.base}/v1/actions?limit=1&include_transactions=true&creator=${account}`;
    const registered = await drive('contracts.mjs', hexKey, dataHash, signatures, '5', '293', list);
    const { id, hash, height } = registered as Readonly<{ id: string; hash: string; height: number }>;
    const register = { tx_hash: hash.slice(2).toUpperCase(), height };
    expect(registered).toMatchObject({
      status: 'success',
      event: 'ActionRequested',
      action: { actionType: 2, state: 1 },
      indexed: { status: 200, actions: [{ id, transactions: { register } }], total: 1 },
    });
    expect(registered['refused']).toMatch(/only the creator .* can approve action/);

    const action = async (): Promise<Json> => {
      const answer = await fetch(`${program.base}/v1/actions/${id}?include_transactions=true`);
      return (await answer.json()) as Json;
    };
    expect(await action()).toMatchObject({ height, data_hash: dataHash, transactions: { register } });
    await expectMoved({ id, bytes, forUpload: signText(key, dataHash), forDownload: signText(key, id) });
  },
);

test(
  'the chain REST shows the catalogue of the JSON-RPC, with the address that it can be tried at',
  { tags: ['S1.evm.openrpc'] },
  async () => {
    await expectCatalogue(program.instance.urls);
  },
);

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
