import { createHookAdministration, type HookAdministration } from '../edges/hooks/administration.ts';
import { observeHooks } from '../edges/hooks/observed.ts';
import { runHooks } from '../edges/hooks/run-hooks.ts';
import { createSender, type HookSender } from '../edges/hooks/sender.ts';
import { hookKeyName } from '../edges/hooks/signing.ts';
import { createEventPages } from '../engine/archive/event-pages.ts';
import type { Context } from './context.ts';
import { looping, type Part } from './role.ts';

function senderOf({ config, version }: Context): HookSender {
  const { probePrivateAddresses: allowPrivate, hookConsent } = config;
  return createSender({ allowPrivate, version, needsConsent: hookConsent === 'required' });
}

/** Deliveries to webhooks, as long as this process holds their lease. */
export function startHooks(context: Context): Part {
  const { config, broker, pools, network, logger, signal } = context;
  const { log, leases, heads } = broker;
  const pages = createEventPages({ nc: broker.connection, pools, network });
  const sender = senderOf(context);
  const run = async (ending: AbortSignal): Promise<void> => {
    const key = await broker.secret(hookKeyName);
    const { hookRetries: retriesMs, hookOrigin: origin } = config;
    await runHooks({ log, leases, pages, key, origin, sender, retriesMs, logger, signal: ending });
  };
  const part = looping('webhooks', signal, run, observeHooks(log, { heads, clock: () => Date.now() }));
  const stop = async (): Promise<void> => {
    await part.stop();
    await sender.close();
  };
  return { ...part, stop };
}

/** The administration of webhooks, and what ends its connections. */
export function hooksFor(context: Context): Readonly<{ hooks: HookAdministration; close: () => Promise<void> }> {
  const { config, broker, network } = context;
  const sender = senderOf(context);
  const hooks = createHookAdministration({
    log: broker.log,
    heads: broker.heads,
    key: async () => await broker.secret(hookKeyName),
    sender,
    origin: config.hookOrigin,
    network,
    clock: () => Date.now(),
    allowPrivate: config.probePrivateAddresses,
  });
  return { hooks, close: sender.close };
}
