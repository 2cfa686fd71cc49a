import { createHash } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../commands.ts';

/** The official release that is fetched; `infra/` runs images of the same line. */
export const natsVersion = '2.15.0';

/** SHA-256 of the release archives. */
const PINS: Readonly<Record<string, string>> = {
  'linux-x64': '5d2c51caca950333aba84911df7d377f826f3a59ec36061c6539105084f65c92',
  'linux-arm64': 'cdc208f5a3f42963a52b6ab06ef65626bb870315dc936e26ba571780c6351112',
};

/** Long enough for a slow answer, short enough that a closed network goes on to the next source. */
const ANSWER_WITHIN_MS = 5_000;
const DOWNLOAD_WITHIN_MS = 180_000;

/** Downloads the pinned official release of this platform to `target`; fails quickly where there is no way out. */
export async function fetchRelease(target: string, signal?: AbortSignal): Promise<void> {
  const pin = PINS[`${process.platform}-${process.arch}`];
  if (!pin) throw new Error(`no pinned release for ${process.platform}-${process.arch}`);
  const folder = `nats-server-v${natsVersion}-linux-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const address = `https://github.com/nats-io/nats-server/releases/download/v${natsVersion}/${folder}.tar.gz`;
  const archive = await download(address, signal);
  const found = createHash('sha256').update(archive).digest('hex');
  if (found !== pin) throw new Error(`the download of ${folder} has SHA-256 ${found}, expected ${pin}`);
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
