import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { gte } from 'semver';
import { leastServer } from '../../log/streams.ts';
import { ask, cacheFolder, which, type Say } from '../commands.ts';
import { fetchDebianPackage } from '../postgres/debian-package.ts';
import { fetchRelease } from './nats-release.ts';
import { whileSaying } from '../slow.ts';

/** A nats-server program that was found to run, and where it comes from. */
export type NatsProgram = Readonly<{ file: string; version: string; from: string }>;

type Source = Readonly<{ from: string; fetch(target: string): Promise<void> }>;

/**
 * Finds a nats-server that is new enough: `NATS_SERVER_BIN`, PATH, the user's cache; else fetches one into the cache.
 *
 * Fetching tries the official release (pinned by SHA-256), then newer suites of the Debian mirror this machine uses
 * (checked by apt); nothing is installed and no root is needed. Fails with every reason and the ways out.
 */
export async function fetchNats({ say, signal }: { say: Say; signal?: AbortSignal | undefined }): Promise<NatsProgram> {
  const found = await findNats();
  if (found) return found;

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
  const version = (await ask(file, '--version'))?.match(/v?(\d+\.\d+\.\d+)/)?.[1];
  return version && gte(version, leastServer) ? { file, version, from } : undefined;
}
