import type { Network } from './events/ids.ts';
import { storeSettings } from './engine/servers/settings.ts';
import { auditorSettings, proofSettings } from './engine/archive/settings.ts';
import { configuredIn } from './edges/node/config-file.ts';
import { evmSettings } from './edges/evm/settings.ts';
import { gatewaySettings } from './edges/gateway/settings.ts';
import { indexerSettings } from './edges/indexer/settings.ts';
import { ledgerSettings } from './edges/ledger/settings.ts';
import { nodeSettings } from './edges/node/settings.ts';
import { networkName, processSettings } from './process-settings.ts';
import { type RoleName, rolesUnasked } from './role-names.ts';
import { hostPort } from './kit/net-address.ts';
import type { Parsed } from './kit/setting.ts';
import { Unfit } from './kit/setting-forms.ts';

/** Every setting there is, by what reads it: `--help`, the parser and docs/settings.md follow from this table alone. */
const settingGroups = {
  'Every process': processSettings,
  'Stores of every process': storeSettings,
  'Role indexer': indexerSettings,
  'Role projector': proofSettings,
  'Role auditor': auditorSettings,
  'Role ledger': ledgerSettings,
  'Role node': nodeSettings,
  'Role gateway': gatewaySettings,
  'Role evm': evmSettings,
} as const;

/** All settings by name. */
export const settings = {
  ...processSettings,
  ...storeSettings,
  ...indexerSettings,
  ...auditorSettings,
  ...proofSettings,
  ...ledgerSettings,
  ...nodeSettings,
  ...gatewaySettings,
  ...evmSettings,
} as const;

/** Where nothing is set, the local network is followed more closely: it is there to be watched. */
const localDefaults: Readonly<Partial<Record<keyof typeof settings, string>>> = {
  validatorsSyncIntervalMs: '1m',
  supernodesSyncIntervalMs: '20s',
  actionsSyncIntervalMs: '5s',
  probeIntervalMs: '15s',
};

type Settings = typeof settings;

/** The settings of the environment, with the defaults that depend on one another filled in. */
export type Config = Omit<Parsed<Settings>, 'network' | 'probePrivateAddresses' | 'roles'> &
  Readonly<{
    network: Network;
    probePrivateAddresses: boolean;
    roles: readonly RoleName[];
    /** Whether `ROLES` named them. */
    areRolesNamed: boolean;
    /** Whether the local network runs and is what is indexed. */
    isLocal: boolean;
    /** Chain REST that is indexed; by default that of the local network, unless its port is 0. */
    chainUrl: string;
  }>;

/** Every problem of the configuration at once. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads all settings from an environment; pure, called once.
 *
 * Throws one `ConfigError` that lists every problem. Secrets never appear in it.
 *
 * @example parseConfig({ PORT: '8080' }).port // 8080
 */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const isLocal = !env[settings.chainApiBase.env];
  const read = (name: keyof Settings): unknown => {
    const { env: variable, default: fallback, parse, secret } = settings[name];
    const input = env[variable] ?? (isLocal ? localDefaults[name] : undefined) ?? fallback;
    try {
      return parse(input);
    } catch (caught) {
      if (!(caught instanceof Unfit)) throw caught;
      problems.push(`${variable} is ${secret ? 'not usable' : JSON.stringify(input)}; it takes ${caught.message}`);
      return undefined;
    }
  };
  const names = Object.keys(settings).filter((name): name is keyof Settings => Object.hasOwn(settings, name));
  const parsed = Object.fromEntries(names.map((name) => [name, read(name)])) as Parsed<Settings>;
  if (parsed.cursorKey !== undefined && parsed.cursorKey.length < 16)
    problems.push('CURSOR_KEY is too short; it takes at least 16 characters');
  if ((parsed.grpcTlsCert === undefined) !== (parsed.grpcTlsKey === undefined))
    problems.push('GRPC_TLS_CERT and GRPC_TLS_KEY belong together; one of them is unset');
  if (parsed.grpcTlsClientCa !== undefined && parsed.grpcTlsCert === undefined)
    problems.push('GRPC_TLS_CLIENT_CA is set without GRPC_TLS_CERT');
  if (parsed.adminPort !== undefined && !env[settings.adminTokens.env])
    problems.push('ADMIN_PORT is set without ADMIN_TOKEN, which has to guard it');
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze({
    ...parsed,
    isLocal,
    roles: parsed.roles ?? rolesUnasked({ isLocal, isSet: (variable) => Boolean(env[variable]) }),
    areRolesNamed: parsed.roles !== undefined,
    chainUrl: parsed.chainApiBase ?? `http://${hostPort(parsed.host, parsed.lcdPort)}`,
    network: parsed.network ?? networkName(isLocal ? 'local' : 'main'),
    probePrivateAddresses: parsed.probePrivateAddresses === '' ? isLocal : parsed.probePrivateAddresses === 'allow',
  });
}

/** The configuration of this process; no other code reads its environment. */
export function configFromEnvironment(overrides: Readonly<Record<string, string | undefined>> = {}): Config {
  const options = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  const env = { ...process.env, ...options };
  return parseConfig({ ...configuredIn(env[settings.nodeConfig.env]), ...env });
}

/** All settings for people: what reads them, variable, default, meaning. */
export function settingRows(): { group: string; variable: string; default: string; meaning: string }[] {
  return Object.entries(settingGroups).flatMap(([group, table]) =>
    Object.values(table).map(({ env, default: fallback, meaning }) => ({
      group,
      variable: env,
      default: fallback,
      meaning,
    })),
  );
}
