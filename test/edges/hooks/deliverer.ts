import { startHooks } from '../../../src/roles/hooks.ts';
import { type HookStores, openHookContext } from './hook-world.ts';

// Delivers to the webhooks of a network until it is killed; its arguments are the stores and the settings, as JSON.
const [stores = '', env = ''] = process.argv.slice(2);
const context = await openHookContext(JSON.parse(stores) as HookStores, JSON.parse(env), new AbortController().signal);
startHooks(context);
process.stdout.write('started\n');
