import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { methods } from '../../../src/edges/evm/methods/all.ts';
import { namespaces } from '../../../src/edges/evm/namespaces.ts';
import type { ServedRpc } from '../../../src/edges/evm/rpc/serve-rpc.ts';
import { createLogger } from '../../../src/kit/logger.ts';
import { serveForeignChain } from '../../../tools/foreign-chain/serve.ts';
import { migratedDatabase } from '../../support/programs/migrated-database.ts';
import { emptyAccounts, furtherCases } from './further-cases.ts';

const folder = fileURLToPath(new URL('../../fixtures/execution-apis/', import.meta.url));
const groups = readdirSync(folder)
  .filter((name) => statSync(`${folder}${name}`).isDirectory())
  .toSorted();

const headers = { 'content-type': 'application/json' };

type Exchange = Readonly<{ request: string; response: string }>;
type Recording = Readonly<{ name: string; schemaOnly: boolean; exchanges: readonly Exchange[] }>;

function recordingsOf(group: string): readonly Recording[] {
  return readdirSync(`${folder}${group}`)
    .toSorted()
    .map((file) => {
      const lines = readFileSync(`${folder}${group}/${file}`, 'utf8').split('\n');
      const [requests, responses] = ['>>', '<<'].map((mark) => lines.filter((line) => line.startsWith(mark)));
      const exchanges = (requests ?? []).map((request, index) => ({
        request: request.slice(3),
        response: responses?.[index]?.slice(3) ?? '',
      }));
      return { name: `${group}/${file}`, schemaOnly: lines.some((line) => line.startsWith('// speconly')), exchanges };
    });
}

/** The suite's rule: what an error says in words does not count; all else does, but for the order of fields. */
function withoutMessages(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutMessages(one));
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).filter(([name]) => !(key === 'error' && name === 'message'));
  return Object.fromEntries(fields.map(([name, one]) => [name, withoutMessages(one, name)]));
}

function isLike(given: unknown, wanted: unknown): boolean {
  if (given === null || wanted === null || typeof given !== 'object' || typeof wanted !== 'object')
    return Object.is(given, wanted);
  if (Array.isArray(given) !== Array.isArray(wanted)) return false;
  const [own, other] = [new Map(Object.entries(given)), new Map(Object.entries(wanted))];
  return own.size === other.size && [...own].every(([name, one]) => other.has(name) && isLike(one, other.get(name)));
}

const schemas = new Map(methods.map(({ name, result }) => [name, Compile(result)]));

describe('the recordings of the execution-apis suite', () => {
  let chain: ServedRpc;
  const passed = new Map<string, number>();

  const passes = async ({ schemaOnly, exchanges }: Recording): Promise<boolean> => {
    for (const { request, response } of exchanges) {
      const answer = await fetch(chain.url, { method: 'POST', headers, body: request });
      const given = JSON.parse(await answer.text());
      const isSchemaOnly = schemaOnly && given.error === undefined;
      const isGood = isSchemaOnly
        ? schemas.get(JSON.parse(request).method)?.Check(given.result) === true
        : isLike(withoutMessages(given), withoutMessages(JSON.parse(response)));
      if (!isGood) return false;
    }
    return true;
  };

  beforeAll(async () => {
    const { postgres, network } = await migratedDatabase();
    chain = await serveForeignChain({
      postgres,
      network,
      genesis: JSON.parse(readFileSync(`${folder}genesis.json`, 'utf8')),
      blocksFile: `${folder}chain.rlp`,
      host: '127.0.0.1',
      httpPort: 0,
      wsPort: 0,
      namespaces,
      gasCap: 50_000_000n,
      callTimeoutMs: 60_000,
      messageMs: 60_000,
      readThreads: 1,
      version: '0.0.0',
      logger: createLogger({ level: 'error', format: 'json' }),
      signal: new AbortController().signal,
    });
  });
  afterAll(async () => {
    await chain.stop();
    const all = groups.map((group) => `${group} ${passed.get(group) ?? 0}/${recordingsOf(group).length}`);
    const sum = [...passed.values()].reduce((one, other) => one + other, 0);
    const most = groups.reduce((one, group) => one + recordingsOf(group).length, 0);
    console.log(`execution-apis: ${sum} of ${most} recordings pass (${all.join(', ')})`);
  });

  test.for(groups)('%s answers as recorded', { tags: ['S1.evm.recordings'] }, async (group) => {
    const failed: string[] = [];
    const recordings = recordingsOf(group);
    for (const recording of recordings) if (!(await passes(recording))) failed.push(recording.name);
    passed.set(group, recordings.length - failed.length);
    expect(failed).toEqual([]);
  });

  const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const answer = await fetch(chain.url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return await answer.json();
  };

  test.for(furtherCases)('beyond them, $name', async ({ method, params, answer }) => {
    expect(await ask(method, params)).toMatchObject(answer);
  });

  test('beyond them, an empty account that a simulation overrides is there until a call touches it', async () => {
    const roots = await Promise.all(
      emptyAccounts.map(async (blockStateCalls) => {
        const answer = await ask('eth_simulateV1', [{ blockStateCalls }, 'latest']);
        return JSON.stringify(answer).match(/"stateRoot":"(0x[0-9a-f]{64})"/)?.[1];
      }),
    );
    const [never, untilACall, toTheEnd] = roots;
    expect(never).toMatch(/^0x/);
    expect(untilACall).toBe(never);
    expect(toTheEnd).not.toBe(never);
  });
});
