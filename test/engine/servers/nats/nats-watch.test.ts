import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { type EmbeddedNats, startNats } from '../../../../src/engine/servers/nats/nats-server.ts';
import { watchServer } from '../../../../src/engine/servers/nats/nats-watch.ts';
import { streamsFolder } from '../../../../src/engine/servers/nats/nats-addresses.ts';
import { sharedSecret } from '../../../../src/engine/log/secrets.ts';
import { flipBit } from '../../../support/kills/flip-bit.ts';
import { temporaryFolder } from '../../../support/programs/processes.ts';
import { steadyPort } from '../../../support/programs/steady-port.ts';

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
  const end = watchServer(() => server, temporaryFolder(), { onStuck: resolve, say: () => undefined, lookEachMs: 5 });
  onTestFinished(end);
  expect(await reason).toMatch(/write error: .*no space left/);
  expect(await stopped).toBe(3);
});

test('watchServer sets a bucket aside that cannot be written to for a damaged value, and it is made anew', async () => {
  const dir = temporaryFolder();
  const said: string[] = [];
  const [port, wsPort] = [await steadyPort(), await steadyPort()];
  const options = { dir, host: '127.0.0.1', port, wsPort, say: (text: string) => void said.push(text) };
  const first = await startNats(options);
  await sharedSecret(await clientOf(first), 'damaged', 'cursor');
  await first.stop();
  const block = path.join(streamsFolder(dir), 'KV_annals-secrets_damaged', 'msgs', '1.blk');
  flipBit(block, readFileSync(block).indexOf('NATS/1.0') + 1);

  const second = await startNats(options);
  const onStuck = (reason: string): void => void said.push(reason);
  onTestFinished(watchServer(() => second, dir, { ...options, onStuck, lookEachMs: 50 }));
  const made = sharedSecret(await clientOf(second), 'damaged', 'cursor');
  expect(await second.exited).toContain('SIGKILL');
  const third = await startNats(options);
  const secret = await made;
  expect(said.join('\n')).toMatch(/KV_annals-secrets_damaged' write error: malformed .*made anew[^]* was moved to /);
  await third.stop();
  const last = await startNats(options);
  onTestFinished(() => last.stop());
  expect(await sharedSecret(await clientOf(last), 'damaged', 'cursor')).toEqual(secret);
});

async function clientOf({ url, user, pass }: EmbeddedNats): Promise<NatsConnection> {
  const nc = await connect({ servers: url, user, pass, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  onTestFinished(() => nc.close());
  return nc;
}
