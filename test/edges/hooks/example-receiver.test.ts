import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hookKeyName, verifyingKeyOf } from '../../../src/edges/hooks/signing.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { runScript } from '../../support/programs/processes.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';
import { type HookWorld, openHookWorld } from './hook-world.ts';
import { startReceiver } from './receiver.ts';

type Json = Record<string, unknown>;

const made = freshFolder();
let world: HookWorld;

beforeAll(async () => {
  const stores = { nats: testNats(), postgres: await freshDatabase(), network: freshNetwork(), folder: made.folder };
  world = await openHookWorld(stores, { PROBE_PRIVATE_ADDRESSES: 'allow' });
});
afterAll(async () => {
  await world.close();
  made.remove();
});

describe('the receiver of docs/webhooks.md', () => {
  it('says how it is started where a port or a secret is missing', async () => {
    const script = runScript(new URL('../../../examples/webhooks/receive.mjs', import.meta.url), ['whsec_x', '9000']);
    expect(await script.ended).toEqual([2, null]);
  });

  it('accepts what is signed with its secret or the key of the network, and nothing else', async () => {
    const { url } = await startReceiver();
    const { status, body: registered } = await world.admin('POST', 'hooks', { url, streams: ['ACTIONS'] });
    expect(status).toBe(201);
    const [path, secret] = [`hooks/${String((registered['hook'] as Json)['id'])}`, String(registered['secret'])];
    const foreign = `whsec_${Buffer.alloc(32).toString('base64')}`;
    const testedBy = async (by: string): Promise<Json> => {
      const script = runScript(new URL('../../../examples/webhooks/receive.mjs', import.meta.url), ['0', by]);
      const [port] = /\d+$/.exec(await script.nextLine()) ?? [];
      const its = `http://127.0.0.1:${port}/`;
      for (const method of ['GET', 'POST', 'OPTIONS'])
        expect([method, (await fetch(its, { method })).status]).toEqual([method, 401]);
      await world.admin('PATCH', path, { url: its });
      const { body } = await world.admin('POST', `${path}/test`);
      if (body['acknowledged'] === true) expect(JSON.parse(await script.nextLine())).toMatchObject({ id: body['id'] });
      script.child.kill('SIGKILL');
      await script.ended;
      return body;
    };
    expect(await testedBy(secret)).toMatchObject({ acknowledged: true, status: 204 });
    expect(await testedBy(verifyingKeyOf(await world.context.broker.secret(hookKeyName)))).toMatchObject({
      status: 204,
    });
    for (const other of [foreign, verifyingKeyOf(Buffer.alloc(32))])
      expect(await testedBy(other)).toMatchObject({ acknowledged: false, status: 401 });
    await world.admin('DELETE', path);
  });
});
