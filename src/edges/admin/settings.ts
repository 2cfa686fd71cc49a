import { setting } from '../../kit/setting.ts';
import { host, optionalPort, Unfit } from '../../kit/setting-forms.ts';

/** A bearer token of the administration, and the name that its acts are recorded under. */
export type AdminToken = Readonly<{ name: string; token: string }>;

const leastCharacters = 32;

/** Tokens, separated by commas, each with a name before a colon where it has one. */
function adminTokens(value: string): readonly AdminToken[] {
  if (value === '') return [];
  const tokens = value.split(',').map((one) => {
    const [, name = 'admin', token = ''] = /^(?:([\w.-]{1,64}):)?([\w.~+/=-]*)$/.exec(one.trim()) ?? [];
    return { name, token };
  });
  if (tokens.some(({ token }) => token.length < leastCharacters))
    throw new Unfit(
      `tokens of at least ${leastCharacters} letters, digits and -._~+/=, each as <token> or <name>:<token>`,
    );
  return tokens;
}

/** Settings of the administration beside its socket. */
export const adminSettings = {
  adminPort: setting(
    'ADMIN_PORT',
    '',
    optionalPort,
    'Port of the administration, which ADMIN_TOKEN then guards; unset: it is on its Unix socket alone',
  ),
  adminHost: setting('ADMIN_HOST', '127.0.0.1', host, 'Address that ADMIN_PORT is opened on, whatever HOST is'),
  adminTokens: setting(
    'ADMIN_TOKEN',
    '',
    adminTokens,
    'Bearer tokens of ADMIN_PORT, separated by commas, each of at least 32 characters; <name>:<token> records its acts under a name',
    true,
  ),
} as const;
