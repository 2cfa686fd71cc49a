import type pg from 'pg';
import { AppError } from '../../kit/errors.ts';

/** Settings of PostgreSQL by their names, in force from the first statement of a connection on. */
export type SessionSettings = Readonly<Record<string, string>>;

/** Limits that `pg` would read from the address instead of ours. */
const ourLimits = ['statement_timeout', 'query_timeout', 'idle_in_transaction_session_timeout'];

/**
 * The connection options, with settings of ours beside those of the address (`?options=`) or the configuration.
 *
 * `pg` lets an address override its options: without this, an address with `options` of its own would remove the
 * isolation of readers. Fails with `INVALID_ARGUMENT` when the address changes a setting that the program relies on.
 *
 * @example withSettings({ connectionString: 'postgres://db/a?options=endpoint%3Dx' }, { jit: 'off' })
 */
export function withSettings(config: pg.ClientConfig, ours: SessionSettings): pg.ClientConfig {
  const { connectionString, options: configured = '', ...rest } = config;
  const written = Object.entries(ours).map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`);
  const url = connectionString !== undefined && URL.canParse(connectionString) ? new URL(connectionString) : undefined;
  const theirs = [configured, url?.searchParams.get('options') ?? ''].filter((one) => one !== '');
  for (const options of theirs) refuseOthers(options, ours);
  const limit = ourLimits.find((name) => url?.searchParams.has(name));
  if (limit !== undefined) throw contradiction(limit);
  // Ours come last: where the check above misses a spelling of theirs, the last one counts.
  const options = [...theirs, ...written].join(' ');
  if (!url) return { ...config, options };
  for (const name of ['options', 'application_name']) url.searchParams.delete(name);
  return { ...rest, connectionString: url.href, options };
}

/** `-c name=value`, `-cname=value` and `--name=value`, where a dash in a name counts as an underscore. */
const setting = /(?:^|\s)(?:-c\s*|--)([\w-]+)=((?:\\.|[^\s\\])*)/g;

function refuseOthers(options: string, ours: SessionSettings): void {
  for (const [, name = '', value = ''] of options.matchAll(setting)) {
    const known = ours[name.replaceAll('-', '_').toLowerCase()];
    if (known !== undefined && known !== value.replaceAll(/\\(.)/g, '$1')) throw contradiction(name);
  }
}

function contradiction(name: string): AppError {
  return new AppError(
    'INVALID_ARGUMENT',
    `The address of the database (DB_DSN) sets ${name}, which the program has to set itself: remove it from the address`,
  );
}
