import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { toAppError } from '../commands/errors.ts';
import type { Config } from './config.ts';
import { lockDir } from './embedded/dir-lock.ts';
import { watchLifeline } from './embedded/lifeline.ts';
import { announce, dataFolder, type Instance } from './instance.ts';
import type { Logger } from './log.ts';
import { assertPortsFree } from './ports-free.ts';
import { startApi } from './api.ts';
import { type Part, startLedger, startProbing, startProjector, startSync } from './roles.ts';
import { startServers } from './servers.ts';
import { type Phase, shutDown, stopSignal } from './shutdown.ts';
import { openStores, plannedPorts } from './wiring.ts';

/**
 * Runs the configured roles until the process is told to stop, or one of them fails.
 *
 * The order of a start and of a stop is what can be read here, top to bottom.
 */
export async function main(config: Config, logger: Logger, { json }: { json: boolean }): Promise<void> {
  const phases: Phase[] = [];
  const { signal, stop } = stopSignal(logger);
  watchLifeline(() => stop('the starting process is gone'));
  const ending = new AbortController();
  try {
    await assertPortsFree(plannedPorts(config));
    if (config.natsUrl === undefined || config.dbDsn === undefined) await lockDir(dataFolder(config));
    const servers = await startServers(config, logger, signal);
    phases.unshift({ name: 'embedded servers', capMs: 15_000, run: servers.stop });
    const context = await openStores(config, servers, { logger, signal: AbortSignal.any([signal, ending.signal]) });
    phases.unshift({
      name: 'connections',
      capMs: 5000,
      run: () => Promise.allSettled([context.pools.end(), context.connection.drain()]),
    });

    const parts: Part[] = [];
    const begin = async (part: Promise<Part>): Promise<Part> => {
      const begun = await part;
      parts.push(begun);
      phases.unshift({ name: begun.name, capMs: 10_000, run: begun.stop });
      return begun;
    };
    const local = config.isLocal && config.roles.includes('ledger') ? await begin(startLedger(context)) : undefined;
    const chainUrl = config.chainApiBase ?? local?.urls.chain ?? `http://${config.host}:${config.lcdPort}`;
    if (config.roles.includes('projector')) await begin(startProjector(context));
    if (config.roles.includes('indexer')) {
      await begin(startSync(context, chainUrl));
      await begin(startProbing(context));
      await begin(startApi(context, chainUrl));
    }

    const urls = Object.assign({}, ...parts.map((part) => part.urls), subscribing(context.nats));
    const { url, user, pass } = context.nats;
    const startedAt = new Date().toISOString();
    const nats = { url, ...(user === undefined ? {} : { user }), ...(pass === undefined ? {} : { pass }) };
    const withdraw = await announce(config, {
      pid: process.pid,
      network: config.network,
      startedAt,
      urls,
      nats,
      postgres: context.postgres,
    });
    phases.unshift({ name: 'announcement', capMs: 1000, run: withdraw });
    greet({ urls, network: config.network }, json);
    await Promise.race([untilAborted(signal), ...parts.map((part) => part.failed)]);
  } catch (caught) {
    if (!signal.aborted) {
      logger.fatal({ err: caught }, toAppError(caught).message);
      process.exitCode = 1;
    }
  }
  ending.abort();
  await shutDown(phases, logger);
  logger.info('stopped');
  await Promise.race([once(process.stdout, 'drain'), delay(0)]);
  process.exit();
}

function subscribing({ user, url, wsUrl }: { user?: string; url: string; wsUrl?: string }): Record<string, string> {
  if (user === undefined) return {};
  return { nats: url, ...(wsUrl === undefined ? {} : { 'nats websocket': wsUrl }) };
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

function greet({ urls, network }: Pick<Instance, 'urls' | 'network'>, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ network, urls })}\n`);
    return;
  }
  const lines = Object.entries(urls).map(([name, url]) => `  ${name.padEnd(16)} ${url}`);
  process.stdout.write(
    `\nAnnals runs on network ${network}:\n\n${lines.join('\n')}\n\nStop it with Ctrl-C. Look at it with ./annals status, ./annals tail.\n\n`,
  );
}
