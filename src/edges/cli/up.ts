import { configFromEnvironment } from '../config.ts';
import { createLogger } from '../log.ts';
import { main } from '../main.ts';

/** `annals up`: runs until it is told to stop. */
export async function up({ roles, json }: { roles?: string; json: boolean }): Promise<void> {
  const config = configFromEnvironment({ ROLES: roles, ...(json ? { LOG_FORMAT: 'json' } : {}) });
  await main(config, createLogger({ level: config.logLevel, format: config.logFormat }), { json });
}
