import { describe, expect, it } from 'vitest';
import { ConfigError, parseConfig } from '../../../../src/config.ts';

const unset = parseConfig({});
/** What an instance on a real chain has where nothing else is set. */
const onChain = parseConfig({ CHAIN_API_BASE: 'https://chain.example' });

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    parseConfig(env);
    return [];
  } catch (caught) {
    if (caught instanceof ConfigError) return caught.problems;
    throw caught;
  }
}

describe('settings', () => {
  it(
    'CHAIN_API_BASE is the chain to index; with it, nothing of the local network',
    { tags: ['S2.env.CHAIN_API_BASE', 'S2.config.local'] },
    () => {
      expect(unset).toMatchObject({ chainApiBase: undefined, isLocal: true, lcdPort: 1317 });
      expect(parseConfig({ CHAIN_API_BASE: 'https://chain.example/' })).toMatchObject({
        chainApiBase: 'https://chain.example',
        isLocal: false,
      });
      expect(problemsOf({ CHAIN_API_BASE: 'chain.example' })).toHaveLength(1);
    },
  );

  it('PORT is 18080', { tags: ['S2.env.PORT', 'S2.limits.port'] }, () => {
    expect([unset.port, parseConfig({ PORT: '8080' }).port]).toEqual([18_080, 8080]);
    expect(problemsOf({ PORT: '70000' })).toHaveLength(1);
  });

  it('CORS_ALLOW_ORIGINS is every origin, else those that it lists', { tags: ['S2.env.CORS_ALLOW_ORIGINS'] }, () => {
    expect([
      unset.corsAllowOrigins,
      parseConfig({ CORS_ALLOW_ORIGINS: 'https://a.example, https://b.example' }).corsAllowOrigins,
    ]).toEqual(['*', ['https://a.example', 'https://b.example']]);
  });

  it(
    'the intervals are 5m, 2m, 30s and 1m',
    {
      tags: [
        'S2.env.VALIDATORS_SYNC_INTERVAL',
        'S2.env.SUPERNODES_SYNC_INTERVAL',
        'S2.env.ACTIONS_SYNC_INTERVAL',
        'S2.env.PROBE_INTERVAL',
      ],
    },
    () => {
      expect(onChain).toMatchObject({
        validatorsSyncIntervalMs: 300_000,
        supernodesSyncIntervalMs: 120_000,
        actionsSyncIntervalMs: 30_000,
        probeIntervalMs: 60_000,
      });
    },
  );

  it('durations are written 500ms, 30s, 5m, 1h', { tags: ['S2.config.durations'] }, () => {
    const read = (text: string) => parseConfig({ PROBE_INTERVAL: text }).probeIntervalMs;
    expect(['500ms', '30s', '5m', '1h'].map(read)).toEqual([500, 30_000, 300_000, 3_600_000]);
    for (const wrong of ['30', '', '-1s', '1 s', '1d', 'soon'])
      expect([wrong, problemsOf({ PROBE_INTERVAL: wrong }).length]).toEqual([wrong, 1]);
  });

  it(
    'DB_DSN is an external database, else an embedded one with a development password',
    { tags: ['S2.env.DB_DSN', 'S2.env.POSTGRES_PASSWORD'] },
    () => {
      expect([unset.dbDsn, unset.postgresPassword]).toEqual([undefined, 'postgres']);
      expect(parseConfig({ DB_DSN: 'postgresql://a@b/c' }).dbDsn).toBe('postgresql://a@b/c');
      expect(problemsOf({ DB_DSN: 'mysql://secret' }).join()).not.toContain('secret');
    },
  );

  it(
    'HOST, DATA_DIR, NATS_URL and ROLES have their defaults',
    { tags: ['S2.settings.HOST', 'S2.settings.DATA_DIR', 'S2.settings.NATS_URL', 'S2.settings.ROLES'] },
    () => {
      expect(unset).toMatchObject({
        host: '127.0.0.1',
        dataDir: 'data',
        natsUrl: undefined,
        roles: ['ledger', 'projector', 'auditor', 'evm', 'node', 'gateway', 'indexer'],
      });
      expect(parseConfig({ ROLES: 'indexer, projector' }).roles).toEqual(['indexer', 'projector']);
      expect(problemsOf({ ROLES: 'nobody' })).toHaveLength(1);
    },
  );

  it(
    'manual sync is off, without token; cursors have no key of their own',
    { tags: ['S2.settings.ALLOW_MANUAL_SYNC', 'S2.settings.SYNC_TOKEN', 'S2.settings.CURSOR_KEY'] },
    () => {
      expect(unset).toMatchObject({ allowManualSync: false, syncToken: undefined, cursorKey: undefined });
      expect(parseConfig({ ALLOW_MANUAL_SYNC: 'true', SYNC_TOKEN: 'x' })).toMatchObject({
        allowManualSync: true,
        syncToken: 'x',
      });
      expect(problemsOf({ CURSOR_KEY: 'short' })).toHaveLength(1);
    },
  );

  it(
    'private addresses and names are not probed, but for those of the local network',
    { tags: ['S2.settings.PROBE_PRIVATE_ADDRESSES', 'S2.settings.PROBE_HOST_NAMES'] },
    () => {
      const real = { CHAIN_API_BASE: 'https://chain.example' };
      expect([unset.probePrivateAddresses, parseConfig(real).probePrivateAddresses, unset.probeHostNames]).toEqual([
        true,
        false,
        false,
      ]);
      expect(parseConfig({ ...real, PROBE_PRIVATE_ADDRESSES: 'allow', PROBE_HOST_NAMES: 'allow' })).toMatchObject({
        probePrivateAddresses: true,
        probeHostNames: true,
      });
    },
  );

  it('NETWORK is main with a chain, local without', { tags: ['S2.settings.NETWORK'] }, () => {
    expect([
      unset.network,
      parseConfig({ CHAIN_API_BASE: 'https://chain.example' }).network,
      parseConfig({ NETWORK: 'test' }).network,
    ]).toEqual(['local', 'main', 'test']);
    expect(problemsOf({ NETWORK: 'No Name' })).toHaveLength(1);
  });
});
