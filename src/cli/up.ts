import { AppError } from '../kit/errors.ts';
import { type Config, configFromEnvironment } from '../config.ts';
import { createLogger } from '../kit/logger.ts';
import { main } from '../main.ts';

/** `roles` as in `ROLES`, which it replaces; `genesis` and `import` are files of another Ethereum chain. */
export type UpOptions = Readonly<{ roles?: string; genesis?: string; import?: string; json: boolean }>;

/** `annals up`: runs until it is told to stop. */
export async function up(options: UpOptions): Promise<void> {
  const { roles, json } = options;
  const given = { ROLES: roles, EVM_GENESIS: options.genesis, EVM_IMPORT: options.import };
  const wanted = { ...given, ...(json ? { LOG_FORMAT: 'json' } : {}) };
  const config = configFromEnvironment({ ...wanted, ...(await foreignChain(configFromEnvironment(wanted))) });
  refuseMadeUpChain(config);
  await main(config, createLogger({ level: config.logLevel, format: config.logFormat }), { json });
}

/** Where a genesis is given, its chain alone runs, on a network of its own unless one is named. */
async function foreignChain({ evmGenesis, network }: Config): Promise<Readonly<Record<string, string>>> {
  if (evmGenesis === undefined) return {};
  const { networkOfGenesis, readGenesis } = await import('../edges/evm/read-genesis.ts');
  const own = network === 'local' || network === 'main';
  // The projector builds the read models, without which no process is ready.
  return { ROLES: 'projector,evm', ...(own && { NETWORK: await networkOfGenesis(await readGenesis(evmGenesis)) }) };
}

/**
 * Refuses to write the local network's made-up chain where the log of the real network belongs.
 *
 * Fails with `INVALID_ARGUMENT` where `NETWORK` is `main` and the chain's address was forgotten.
 */
export function refuseMadeUpChain({ isLocal, network, roles }: Pick<Config, 'isLocal' | 'network' | 'roles'>): void {
  if (!isLocal || network !== 'main' || !roles.includes('ledger')) return;
  throw new AppError(
    'INVALID_ARGUMENT',
    'NETWORK is main, but no chain is named: set CHAIN_API_BASE to its REST address, or leave NETWORK unset for the local network',
  );
}
