import { once } from 'node:events';
import { toAppError } from './kit/errors.ts';
import type { Config } from './config.ts';
import { addressList } from './kit/net-address.ts';
import { announce, type Instance } from './engine/servers/instance.ts';
import type { Logger } from './kit/logger.ts';
import { type Phase, shutDown, stopSignal, strayFailure } from './kit/shutdown.ts';
import { configuredRoles } from './roles/all.ts';
import { type Context, openStores } from './roles/context.ts';
import { missedRoles } from './role-names.ts';
import { assertPortsFree, plannedPorts } from './roles/ports.ts';
import type { Part } from './roles/role.ts';
import { startRoles } from './roles/start-roles.ts';
import { startServers } from './engine/servers/servers.ts';
import { startTraces } from './roles/traces.ts';

/**
 * Runs the configured roles until a signal stops the process, a role fails, or an error occurs that no code caught.
 *
 * This function shows the order of a start and of a stop, top to bottom.
 */
export async function main(config: Config, logger: Logger, { json }: { json: boolean }): Promise<void> {
  const phases: Phase[] = [];
  const reported = stopSignal(logger);
  const stray = strayFailure(logger);
  const failure = new AbortController();
  const signal = AbortSignal.any([reported, failure.signal]);
  const run = async (): Promise<void> => {
    phases.unshift(await startTraces(config, logger));
    await assertPortsFree(plannedPorts(config));
    const loading = configuredRoles(config);
    // Roles that cannot be loaded end the start further down, once it knows of the servers that it has to stop.
    loading.catch(() => undefined);
    const servers = await startServers(config, logger, reported);
    phases.unshift({ name: 'embedded servers', capMs: 15_000, run: servers.stop });
    const context = await openStores(config, servers, { logger, signal });
    const { broker, pools } = context;
    phases.unshift({ name: 'connections', capMs: 5000, run: () => Promise.allSettled([pools.end(), broker.close()]) });

    for (const missed of config.areRolesNamed ? [] : missedRoles(config.roles)) logger.warn(missed);
    const parts: Part[] = [];
    for await (const part of startRoles(context, await loading, parts)) {
      parts.push(part);
      phases.unshift({ name: part.name, capMs: 10_000, run: part.stop });
    }
    const instance = describe(context, parts);
    phases.unshift({ name: 'announcement', capMs: 1000, run: await announce(config, instance) });
    greet(instance, json);
    await Promise.race([untilAborted(signal), ...parts.map((part) => part.failed)]);
  };
  const running = run();
  try {
    await Promise.race([running, stray]);
  } catch (caught) {
    if (!reported.aborted) {
      const { code, message } = toAppError(caught);
      logger.fatal(code === 'INTERNAL' ? { err: caught } : { code }, message);
      process.exitCode = 1;
    }
    failure.abort();
  }
  const start = { name: 'start', capMs: 15_000, run: () => Promise.allSettled([running]) };
  await shutDown([start], logger);
  await shutDown(phases, logger);
  logger.info('stopped');
  process.exit();
}

function describe({ network, nats, postgres }: Context, parts: readonly Part[]): Instance {
  const { url, wsUrl, user, pass } = nats;
  const isOurs = user !== undefined && pass !== undefined;
  const forSubscribers = isOurs ? { nats: url, ...(wsUrl === undefined ? {} : { 'nats websocket': wsUrl }) } : {};
  return {
    network,
    postgres,
    pid: process.pid,
    startedAt: new Date().toISOString(),
    urls: Object.assign({}, ...parts.map((part) => part.urls), forSubscribers),
    nats: isOurs ? { url, user, pass } : { url },
  };
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

function greet({ urls, network }: Instance, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ network, urls })}\n`);
    return;
  }
  process.stdout.write(
    `\nAnnals runs on network ${network}:\n\n${addressList(urls)}\n\nStop it with Ctrl-C. Look at it with ./annals status, ./annals tail.\n\n`,
  );
}
