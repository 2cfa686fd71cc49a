import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { request, run, which } from '../commands.ts';

/** One file of a Debian package of a given suite. */
type DebianFile = Readonly<{
  suite: string;
  name: string;
  /** The file inside the package. */
  member: string;
  /** Where it is put. */
  target: string;
  signal?: AbortSignal | undefined;
}>;

const KEYRINGS = ['/usr/share/keyrings/debian-archive-keyring.gpg', '/usr/share/keyrings/debian-archive-keyring.pgp'];
const APT_WITHIN_MS = 240_000;

/**
 * Takes one file out of a package of another suite, from the mirror that this machine's apt is configured for.
 *
 * apt works on a state of its own in a scratch folder and checks signatures as always; the system's lists, its package
 * database and root's rights are not touched. Proxies and mirrors of `apt.conf.d` stay in force.
 */
export async function fetchDebianPackage({ suite, name, member, target, signal }: DebianFile): Promise<void> {
  const mirror = await debianMirror();
  const keyring = KEYRINGS.find((file) => existsSync(file));
  if (!keyring) throw new Error('no Debian archive keyring on this machine');
  const scratch = `${target}.apt-${process.pid}`;
  try {
    for (const folder of ['state/lists/partial', 'cache/archives/partial', 'unpacked']) {
      await mkdir(path.join(scratch, folder), { recursive: true });
    }
    await writeFile(path.join(scratch, 'state/status'), '');
    const source = { Types: 'deb', URIs: mirror, Suites: suite, Components: 'main', 'Signed-By': keyring };
    await writeFile(path.join(scratch, 'one.sources'), lines(source, ': '));
    await apt(scratch, ['update'], signal);
    await apt(scratch, ['download', name], signal);
    const deb = (await readdir(scratch)).find((file) => file.endsWith('.deb'));
    if (!deb) throw new Error('apt downloaded nothing');
    await run('dpkg-deb', ['-x', path.join(scratch, deb), path.join(scratch, 'unpacked')], { timeoutMs: 60_000 });
    await rename(path.join(scratch, 'unpacked', member), target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function debianMirror(): Promise<string> {
  if (!which('apt-get') || !which('dpkg-deb')) throw new Error('no apt on this machine');
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const codename = /^VERSION_CODENAME=(.*)$/m.exec(system)?.[1];
  if (!/^ID=debian$/m.test(system) || !codename) throw new Error('this machine is not Debian');
  const format = '$(COMPONENT)|$(RELEASE)|$(REPO_URI)';
  const targets = await request(
    'apt-get',
    '--no-release-info',
    'indextargets',
    '--format',
    format,
    'Created-By: Packages',
  );
  const mirror = targets
    ?.split('\n')
    .map((line) => line.split('|'))
    .find(([component, release]) => component === 'main' && release === codename)?.[2];
  if (!mirror) throw new Error('apt has no Debian mirror configured');
  return mirror;
}

/** apt reports failed updates as warnings with code 0, so its words are read as well. */
async function apt(scratch: string, args: readonly string[], signal?: AbortSignal): Promise<void> {
  const settings = {
    'Dir::State': path.join(scratch, 'state'),
    'Dir::State::status': path.join(scratch, 'state/status'),
    'Dir::Cache': path.join(scratch, 'cache'),
    'Dir::Etc::sourcelist': path.join(scratch, 'one.sources'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
    'APT::Sandbox::User': '',
    'APT::Update::Post-Invoke-Success': '',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const env = { ...process.env, LC_ALL: 'C' };
  const limits = { cwd: scratch, env, timeoutMs: APT_WITHIN_MS, ...(signal ? { signal } : {}) };
  // The shell joins both outputs, so that one string holds all of apt's messages.
  const output = await run('sh', ['-c', 'exec apt-get "$@" 2>&1', 'apt-get', ...options, '-q', ...args], limits).catch(
    (error: Error & { stdout?: string }) => error.stdout || `E: ${error.message}`,
  );
  if (/^(E|Err):/m.test(output)) throw new Error(complaint(output));
}

/** The first complaints, without the mirror's address. */
function complaint(output: string): string {
  const complaints = output.split('\n').filter((line) => /^[EW]:/.test(line));
  return (
    complaints
      .slice(0, 2)
      .join('; ')
      .replace(/https?:\/\/\S+/g, '<mirror>') || 'apt failed'
  );
}

const lines = (entries: Readonly<Record<string, string>>, between: string) =>
  Object.entries(entries)
    .map(([key, value]) => `${key}${between}${value}\n`)
    .join('');
