import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { hooksFor } from '../../../src/roles/hooks.ts';
import { actionOf, appendFacts, everything } from '../../engine/log/fresh-log.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { until } from '../../support/polling.ts';
import { runScript, type Script } from '../../support/programs/processes.ts';
import { seeded } from '../../support/histories/random-history.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';
import { openHookContext } from './hook-world.ts';
import { startReceiver } from './receiver.ts';

/** How often the deliverer is killed; `HOOK_KILLS` sets another number; from ten on, 1,000 events are due. */
const kills = Number(process.env['HOOK_KILLS'] ?? 3);
const [entities, eventsEach] = kills >= 10 ? [50, 20] : [20, 5];
const env = { PROBE_PRIVATE_ADDRESSES: 'allow', HOOK_RETRIES: Array.from({ length: 20 }, () => '100ms').join(' ') };
/** The share of attempts that the receiver does not acknowledge. */
const failing = 0.05;

test('every event arrives, none of an entity out of order, although the process that delivers is killed', async () => {
  const made = freshFolder();
  const stores = { nats: testNats(), postgres: await freshDatabase(), network: freshNetwork(), folder: made.folder };
  const stop = new AbortController();
  const context = await openHookContext(stores, env, stop.signal);
  const { log } = context.broker;
  const due = Array.from({ length: entities * eventsEach }, (_, at) =>
    actionOf(String(at % entities), Math.floor(at / entities) + 1),
  );
  await appendFacts(log, due);

  const { hooks, close } = hooksFor(context);
  const receiver = await startReceiver();
  const random = seeded(Number(process.env['HOOK_KILLS_SEED'] ?? 1));
  /** How many events of each entity were acknowledged, and what came too early. */
  const acknowledged = new Map<string, number>();
  const early: string[] = [];
  let total = 0;
  let killed = 0;
  let running: Script | undefined;
  receiver.answer(({ event }) => {
    const entity = String(event['subject']);
    const { seenAtHeight: number } = event['data'] as { seenAtHeight: number };
    const done = acknowledged.get(entity) ?? 0;
    if (number > done + 1) early.push(`${entity}: ${number} after ${done}`);
    if (random.below(1000) < failing * 1000) return { status: 500 };
    if (number === done + 1) {
      acknowledged.set(entity, number);
      total += 1;
      // At any moment, also between an acknowledgement and its record.
      if (killed < kills && total >= ((killed + 1) * due.length) / (kills + 1)) {
        killed += 1;
        running?.child.kill('SIGKILL');
      }
    }
    return { status: 204 };
  });
  const { hook, secret } = await hooks.register({ url: receiver.url, streams: ['ACTIONS'], from: 1 });

  for (let lives = 0; lives <= kills; lives++) {
    const script = runScript(new URL('./deliverer.ts', import.meta.url), [JSON.stringify(stores), JSON.stringify(env)]);
    running = script;
    if (lives < kills) await once(script.child, 'exit');
  }
  const known = await until('all is recorded', async () => {
    const now = await hooks.find(hook);
    return now.waiting.length === 0 && now.positions[0]?.sequence === due.length && now;
  });

  expect(early).toEqual([]);
  expect(total).toBe(due.length);
  expect(new Set(receiver.received.map(({ event }) => event['id'])).size).toBe(due.length);
  for (const { body, headers } of receiver.received) new Webhook(secret).verify(body, headers);
  expect(known).toMatchObject({ status: 'enabled' });
  const facts = (await everything(log, 'HOOKS')).length;
  process.stdout.write(
    `webhook: ${due.length} events, ${killed} kills, ${receiver.received.length} requests, ${facts} facts\n`,
  );
  expect(killed).toBe(kills);

  running?.child.kill('SIGKILL');
  await running?.ended;
  await close();
  stop.abort();
  await Promise.all([context.pools.end(), context.broker.close()]);
  made.remove();
}, 600_000);
