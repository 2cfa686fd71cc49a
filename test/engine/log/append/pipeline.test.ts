import { expect, test } from 'vitest';
import { Pipeline } from '../../../../src/engine/log/append/pipeline.ts';
import { testNats } from '../../../support/programs/servers.ts';
import { connected } from '../fresh-log.ts';

test('a pipeline that is closed counts what is in flight as lost, and leaves no subscription', async () => {
  const { url, user, pass } = testNats();
  const [nc, reader] = await Promise.all([connected({ url, user, pass }), connected({ url, user, pass })]);
  const silent = reader.subscribe('pipeline.silent', { max: 1 });
  await reader.flush();
  const pipeline = new Pipeline(nc, { timeoutMs: 60_000 });
  const sent = pipeline.send([{ subject: 'pipeline.silent', bytes: new Uint8Array(), headers: '' }]);
  let inbox = '';
  for await (const { reply } of silent) inbox = reply ?? '';

  pipeline.close();
  pipeline.close();
  expect(await sent).toEqual({ kind: 'lost', why: 'the sender was closed' });
  await nc.flush();
  await expect(reader.request(inbox)).rejects.toThrow('no responders');
});
