import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ConfigError, parseConfig, settingRows } from '../src/config.ts';

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    parseConfig(env);
  } catch (caught) {
    if (caught instanceof ConfigError) return caught.problems;
  }
  return [];
};

describe('parseConfig', () => {
  it('has the defaults of the specification with a chain given', { tags: ['S2.config.defaults'] }, () => {
    const config = parseConfig({ CHAIN_API_BASE: 'http://127.0.0.1:1317' });
    expect(config).toMatchObject({
      port: 18_080,
      corsAllowOrigins: '*',
      validatorsSyncIntervalMs: 300_000,
      supernodesSyncIntervalMs: 120_000,
      actionsSyncIntervalMs: 30_000,
      probeIntervalMs: 60_000,
      dbDsn: undefined,
      postgresPassword: 'postgres',
      host: '127.0.0.1',
      dataDir: 'data',
      network: 'main',
      allowManualSync: false,
      probePrivateAddresses: false,
      probeHostNames: false,
      isLocal: false,
    });
  });

  it(
    'runs the local network without a chain, probes its private addresses and follows it closely',
    { tags: ['S2.config.local'] },
    () => {
      expect(parseConfig({})).toMatchObject({
        isLocal: true,
        network: 'local',
        probePrivateAddresses: true,
        actionsSyncIntervalMs: 5000,
      });
      expect(parseConfig({ PROBE_PRIVATE_ADDRESSES: 'deny', ACTIONS_SYNC_INTERVAL: '30s' })).toMatchObject({
        probePrivateAddresses: false,
        actionsSyncIntervalMs: 30_000,
      });
    },
  );

  it('reads durations written 500ms, 30s, 5m and 1h', { tags: ['S2.config.durations'] }, () => {
    const intervals = {
      ACTIONS_SYNC_INTERVAL: '500ms',
      SUPERNODES_SYNC_INTERVAL: '30s',
      VALIDATORS_SYNC_INTERVAL: '5m',
      PROBE_INTERVAL: '1h',
    };
    expect(parseConfig(intervals)).toMatchObject({
      actionsSyncIntervalMs: 500,
      supernodesSyncIntervalMs: 30_000,
      validatorsSyncIntervalMs: 300_000,
      probeIntervalMs: 3_600_000,
    });
  });

  it('reads how many copies of the log there are and how large it may grow, and leaves open what is not set', () => {
    expect(parseConfig({})).toMatchObject({ streamReplicas: undefined, streamMaxBytes: undefined });
    expect(parseConfig({ STREAM_REPLICAS: '3', STREAM_MAX_SIZE: '20GiB' })).toMatchObject({
      streamReplicas: 3,
      streamMaxBytes: 20 * 2 ** 30,
    });
    expect(parseConfig({ STREAM_MAX_SIZE: 'unlimited' }).streamMaxBytes).toBe(-1);
    expect(problemsOf({ STREAM_REPLICAS: '6', STREAM_MAX_SIZE: '20' })).toEqual([
      'STREAM_REPLICAS is "6"; it takes a whole number from 1 to 5',
      'STREAM_MAX_SIZE is "20"; it takes a size from 1MiB on, written 500MiB, 20GiB or 1TiB, or unlimited',
    ]);
    expect(problemsOf({ STREAM_MAX_SIZE: '4KiB' })).toHaveLength(1);
  });

  it('takes no file larger than 1 GiB, neither at a node nor at the gateway', () => {
    const { maxFileBytes, uploadMaxSize } = parseConfig({ MAX_FILE_BYTES: '1GiB', UPLOAD_MAX_SIZE: '500MiB' });
    expect([maxFileBytes, uploadMaxSize]).toEqual([2 ** 30, 500 * 2 ** 20]);
    expect(problemsOf({ MAX_FILE_BYTES: '2GiB', UPLOAD_MAX_SIZE: 'unlimited' })).toEqual([
      'MAX_FILE_BYTES is "2GiB"; it takes a size from 1MiB to 1GiB',
      'UPLOAD_MAX_SIZE is "unlimited"; it takes a size from 1MiB to 1GiB',
    ]);
  });

  it('reports every problem at once, names what is accepted, and shows no secret', () => {
    const problems = problemsOf({
      PORT: '70000',
      PROBE_INTERVAL: '5',
      NETWORK: 'Main',
      DB_DSN: 'mysql://u:secret@h',
      CURSOR_KEY: 'short',
      ROLES: 'indexer,cook',
      ADMIN_PORT: '18090',
      ADMIN_TOKEN: 'night:secret',
    });
    expect(problems).toHaveLength(7);
    expect(problems.join('\n')).toContain('PORT is "70000"; it takes a whole number from 0 to 65535');
    expect(problems.join('\n')).toContain('ROLES');
    expect(problems.join('\n')).not.toContain('secret');
  });
});

describe('TRUSTED_PROXIES', () => {
  it('takes addresses and subnets, and trusts nobody where it is not set', () => {
    expect(parseConfig({}).trustedProxies).toEqual([]);
    const given = { TRUSTED_PROXIES: '10.0.0.1, fd00::/8' };
    expect(parseConfig(given).trustedProxies).toEqual(['10.0.0.1', 'fd00::/8']);
    expect(problemsOf({ TRUSTED_PROXIES: 'proxy.example' })).toHaveLength(1);
  });
});

describe('settings', () => {
  it('are all in docs/settings.md, with their defaults', async () => {
    const page = await readFile(new URL('../docs/settings.md', import.meta.url), 'utf8');
    for (const { variable, default: fallback } of settingRows())
      expect(page).toContain(`| \`${variable}\` | ${fallback === '' ? '' : `\`${fallback}\``} |`);
  });
});
