import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../boot/paths.mjs';

const NOBODY = 65534;
const FOLDERS = ['home', 'npm', 'cache', 'tmp'];

/**
 * A clone of HEAD that belongs to `user`, with an environment of empty folders: HOME, npm's cache, the cache of fetched
 * programs, temporary files. `mark` is in the environment of everything that is started in it.
 */
export async function freshClone(user, caches) {
  const base = mkdtempSync(path.join(tmpdir(), 'annals-fresh-'));
  chmodSync(base, 0o711);
  const folder = path.join(base, 'annals');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, folder]);
  for (const name of FOLDERS) mkdirSync(path.join(base, name));
  if (user === 'nobody') execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, base]);
  const mark = randomBytes(8).toString('hex');
  return {
    base,
    folder,
    mark,
    env: environment(base, caches ?? base, mark),
    wrap: user === 'nobody' ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [],
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** Only what reaches the network is kept of our own environment. */
function environment(base, caches, mark) {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(LANG|LC_ALL|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i.test(name),
  );
  const authority = npmSetting('cafile');
  return {
    ...Object.fromEntries(kept),
    PATH: process.env.PATH,
    HOME: path.join(base, 'home'),
    TMPDIR: path.join(base, 'tmp'),
    npm_config_cache: path.join(caches, 'npm'),
    npm_config_registry: npmSetting('registry'),
    ...(authority === '' || authority === 'null' ? {} : { npm_config_cafile: authority }),
    npm_config_update_notifier: 'false',
    ANNALS_CACHE: path.join(caches, 'cache'),
    ANNALS_FRESH_CHECK: mark,
  };
}

/** What this machine's npm is set to: the registry and the certificate authority are how it reaches the network. */
function npmSetting(name) {
  return execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
