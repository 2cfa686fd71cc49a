import { describe, expect, expectTypeOf, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { configuredRoles, roles } from '../../src/roles/all.ts';
import { roleHelp } from '../../src/cli/setting-help.ts';
import { missedRoles, type RoleName, roleNames } from '../../src/role-names.ts';
import { plannedPorts } from '../../src/roles/ports.ts';
import { looping, type Role } from '../../src/roles/role.ts';

const chain = { CHAIN_API_BASE: 'http://127.0.0.1:1' };
const namesOf = async (env: Record<string, string>) =>
  (await configuredRoles(parseConfig(env))).map(({ name }) => name);
const portsOf = (env: Record<string, string>) => plannedPorts(parseConfig(env)).map(({ setting }) => setting);

describe('roles', () => {
  it('have a module for every name; a name without one, or under another name, does not compile', async () => {
    const modules = await Promise.all(Object.values(roles).map(async (load): Promise<Role> => await load()));
    expect(modules.map(({ name }) => name)).toEqual(roleNames);
    expectTypeOf<Omit<typeof roles, 'ledger'>>().not.toExtend<typeof roles>();
    expectTypeOf<Readonly<Record<RoleName, () => Promise<Role>>>>().not.toExtend<typeof roles>();
  });

  it('run all on the local network, and without the chain of ours on another one', async () => {
    expect(await namesOf({})).toEqual(['ledger', 'projector', 'auditor', 'evm', 'node', 'gateway', 'indexer']);
    expect(await namesOf(chain)).toEqual(['projector', 'auditor', 'indexer']);
    expect(await namesOf({ ...chain, NODE_KEY_FILE: 'key' })).toEqual(['projector', 'auditor', 'node', 'indexer']);
  });

  it('leave the gateway out without a key, and say what to set', { tags: ['S3.nodes.key-file'] }, async () => {
    expect(await namesOf({ ...chain, GATEWAY_KEY_FILE: 'key' })).toContain('gateway');
    const { roles: unasked, areRolesNamed } = parseConfig(chain);
    expect(areRolesNamed).toBe(false);
    expect(missedRoles(unasked)).toEqual([expect.stringMatching(/role gateway does not run: set GATEWAY_KEY_FILE/)]);
    expect(missedRoles(parseConfig({}).roles)).toEqual([]);
  });

  it('start in one order, whatever order ROLES names them in', async () => {
    expect(await namesOf({ ROLES: 'indexer,ledger' })).toEqual(['ledger', 'indexer']);
  });

  it('are all in the help', () => {
    for (const name of roleNames) expect(roleHelp()).toContain(name);
  });
});

describe('plannedPorts', () => {
  it('names the ports of the configured roles and of the servers that are not external', () => {
    expect(portsOf({}).toSorted()).toEqual([
      'EVM_HTTP_PORT',
      'EVM_WS_PORT',
      'GATEWAY_PORT',
      'LCD_PORT',
      'NATS_PORT',
      'NATS_WS_PORT',
      'PORT',
      'RPC_PORT',
    ]);
    expect(portsOf({ ...chain, PG_PORT: '5432' }).toSorted()).toEqual(['NATS_PORT', 'NATS_WS_PORT', 'PG_PORT', 'PORT']);
  });

  it('has PORT once in every process, for operations at least', () => {
    const external = { ...chain, NATS_URL: 'nats://127.0.0.1:1', DB_DSN: 'postgres://127.0.0.1/x' };
    for (const name of roleNames)
      expect(portsOf({ ...external, ROLES: name }).filter((setting) => setting === 'PORT')).toHaveLength(1);
    expect(portsOf({ ...external, ROLES: 'node' })).toEqual(['PORT', 'GRPC_PORT', 'NODE_HTTP_PORT', 'P2P_PORT']);
  });
});

describe('looping', () => {
  it('fails when its loop does before it is stopped', async () => {
    const part = looping('part', undefined, async () => await Promise.reject(new Error('gone')));
    await expect(part.failed).rejects.toThrow('gone');
  });

  it('does not fail when it is stopped', async () => {
    const part = looping('part', undefined, async (signal) => {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    });
    await part.stop();
    expect(await Promise.race([part.failed, new Promise((resolve) => setImmediate(resolve, 'runs'))])).toBe('runs');
  });
});
