import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gte } from 'semver';
import { leastServer } from '../../log/streams.ts';
import { request, cacheFolder, run, type Report, which, whileSaying } from '../commands.ts';
import { fetchDebianPackage } from '../postgres/debian-package.ts';

/** A nats-server program that runs on this machine, and its source. */
type NatsProgram = Readonly<{ file: string; version: string; from: string }>;

type Source = Readonly<{ from: string; fetch(target: string): Promise<void> }>;

/**
 * Finds a nats-server that is new enough: `NATS_SERVER_BIN`, PATH, the user's cache; else fetches one into the cache.
 *
 * Fetching tries the official release (pinned by SHA-256), then newer suites of the Debian mirror this machine uses
 * (checked by apt); nothing is installed and no root is needed. Fails with every reason and the ways out.
 */
export async function fetchNats({
  say,
  signal,
}: {
  say: Report;
  signal?: AbortSignal | undefined;
}): Promise<NatsProgram> {
  const result = await findNats();
  if (result) return result;

  say(`no nats-server ${leastServer} or later here: fetching one (about 5 MB, once)`);
  const cached = cachedFile();
  await mkdir(path.dirname(cached), { recursive: true });
  const sources: Source[] = [
    { from: 'official release', fetch: (target) => fetchRelease(target, signal) },
    ...['testing', 'unstable'].map((suite) => ({
      from: `Debian ${suite}`,
      fetch: (target: string) =>
        fetchDebianPackage({ suite, name: 'nats-server', member: 'usr/sbin/nats-server', target, signal }),
    })),
  ];
  const reasons: string[] = [];
  for (const { from, fetch } of sources) {
    signal?.throwIfAborted();
    const reason = await whileSaying(say, `fetching nats-server (${from})`, () => fetch(cached))
      .then(() => 'does not run here or is too old')
      .catch((error: Error) => error.message);
    const program = await usable(cached, from);
    if (program) {
      say(`fetched nats-server ${program.version} (${from})`);
      return program;
    }
    reasons.push(`${from}: ${reason}`);
  }
  throw new Error(
    `No usable nats-server. Install ${leastServer} or later, or set NATS_SERVER_BIN to one, or NATS_URL to a running server.\n` +
      reasons.map((reason) => `  ${reason}`).join('\n'),
  );
}

/** The nats-server that would be used without fetching one, or undefined. */
export async function findNats(): Promise<NatsProgram | undefined> {
  return (
    (await usable(process.env.NATS_SERVER_BIN, 'NATS_SERVER_BIN')) ??
    (await usable(which('nats-server'), 'PATH')) ??
    (await usable(cachedFile(), 'cache'))
  );
}

const cachedFile = () => path.join(cacheFolder(), 'nats-server');

async function usable(file: string | undefined, from: string): Promise<NatsProgram | undefined> {
  if (!file || !existsSync(file)) return undefined;
  const version = (await request(file, '--version'))?.match(/v?(\d+\.\d+\.\d+)/)?.[1];
  return version && gte(version, leastServer) ? { file, version, from } : undefined;
}

/** The official release that is fetched; `infra/` runs images of the same line. */
export const natsVersion = '2.15.0';

/** SHA-256 of the release archives. */
const PINS: Readonly<Record<string, string>> = {
  'linux-x64': '5d2c51caca950333aba84911df7d377f826f3a59ec36061c6539105084f65c92',
  'linux-arm64': 'cdc208f5a3f42963a52b6ab06ef65626bb870315dc936e26ba571780c6351112',
};

/** Long enough for a slow answer, short enough that without a network the next source is tried soon. */
const ANSWER_WITHIN_MS = 5_000;
const DOWNLOAD_WITHIN_MS = 180_000;

/** Downloads the pinned official release of this platform to `target`; fails quickly where there is no network. */
async function fetchRelease(target: string, signal?: AbortSignal): Promise<void> {
  const pin = PINS[`${process.platform}-${process.arch}`];
  if (!pin) throw new Error(`no pinned release for ${process.platform}-${process.arch}`);
  const folder = `nats-server-v${natsVersion}-linux-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const address = `https://github.com/nats-io/nats-server/releases/download/v${natsVersion}/${folder}.tar.gz`;
  const archive = await download(address, signal);
  const hit = createHash('sha256').update(archive).digest('hex');
  if (hit !== pin) throw new Error(`the download of ${folder} has SHA-256 ${hit}, expected ${pin}`);
  const scratch = `${target}.release-${process.pid}`;
  await mkdir(scratch, { recursive: true });
  try {
    await writeFile(path.join(scratch, 'archive.tar.gz'), archive);
    await run('tar', ['-xzf', 'archive.tar.gz', `${folder}/nats-server`], { cwd: scratch, timeoutMs: 60_000 });
    await rename(path.join(scratch, folder, 'nats-server'), target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The time limit for the answer's head is short; its body may take as long as a slow line needs. */
async function download(address: string, signal?: AbortSignal): Promise<Uint8Array> {
  const answered = new AbortController();
  const early = setTimeout(
    () => answered.abort(new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`)),
    ANSWER_WITHIN_MS,
  );
  const limits = [answered.signal, AbortSignal.timeout(DOWNLOAD_WITHIN_MS), ...(signal ? [signal] : [])];
  try {
    const response = await fetch(address, { signal: AbortSignal.any(limits) });
    clearTimeout(early);
    if (!response.ok) throw new Error(`the download answered ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new Error(`download failed: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(early);
  }
}

/** fetch() hides why it failed one level down. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
