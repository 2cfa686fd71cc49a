import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { EmbeddedNats } from '../../../src/edges/embedded/nats-server.ts';
import { watchServer } from '../../../src/edges/embedded/nats-watch.ts';
import { temporaryFolder } from '../../support/processes.ts';

/** What nats-server 2.15.1 answers to `/healthz` after a write met a full disk, recorded. */
const stuck =
  '{"status":"unavailable","error":"JetStream stream \'CORE > PROBES\' write error: write msgs/1.blk: no space left on device"}';

const unasked = {
  url: '',
  wsUrl: '',
  user: '',
  pass: '',
  version: '',
  from: '',
  pid: -1,
  kill: () => Promise.reject(),
};

/** A server as it is seen from outside: what its monitoring answers, and whether it was stopped. */
async function serverThatSays(
  ...answers: readonly string[]
): Promise<{ server: EmbeddedNats; stopped: Promise<number> }> {
  let asked = 0;
  const monitor = createServer(({ url }, response) => {
    if (url !== '/healthz') return response.end('{"mem":20000000}');
    const answer = answers[asked++] ?? answers.at(-1) ?? '';
    return response.writeHead(answer.includes('error') ? 503 : 200).end(answer);
  });
  await new Promise<void>((resolve) => void monitor.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void monitor.close());
  const { promise: stopped, resolve } = Promise.withResolvers<number>();
  const monitorUrl = `http://127.0.0.1:${(monitor.address() as AddressInfo).port}`;
  const server = { ...unasked, monitorUrl, exited: stopped.then(String), stop: async () => resolve(asked) };
  return { server, stopped };
}

test('watchServer stops a server that takes nothing more since a write failed, and says why', async () => {
  const { server, stopped } = await serverThatSays('{"status":"ok"}', '{"status":"ok"}', stuck);
  const { promise: reason, resolve } = Promise.withResolvers<string>();
  const end = watchServer(() => server, temporaryFolder(), { onStuck: resolve, lookEachMs: 5 });
  onTestFinished(end);
  expect(await reason).toMatch(/write error: .*no space left/);
  expect(await stopped).toBe(3);
});
