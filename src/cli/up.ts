import { AppError } from '../kit/errors.ts';
import { type Config, configFromEnvironment } from '../config.ts';
import { createLogger } from '../kit/logger.ts';
import { main } from '../main.ts';

/** `roles` as in `ROLES`, which it replaces. */
export type UpOptions = Readonly<{ roles?: string; json: boolean }>;

/** `annals up`: runs until a signal stops it. */
export async function up(options: UpOptions): Promise<void> {
  const { roles, json } = options;
  const config = configFromEnvironment({ ROLES: roles, LOG_FORMAT: json ? 'json' : undefined });
  refuseMadeUpChain(config);
  await main(config, createLogger({ level: config.logLevel, format: config.logFormat }), { json });
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
