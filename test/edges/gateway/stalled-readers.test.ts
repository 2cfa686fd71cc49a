import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startTask, newTaskId, recordSteps } from '../../../src/edges/gateway/tasks/task-log.ts';
import { actionOver, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';

const at = '2026-01-02T03:04:05.000Z';
const mostUnread = 256 * 1024;

async function start(): Promise<GatewayUnderTest> {
  const gateway = await gatewayUnderTest();
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(Buffer.from('x'), { chainState: 'done', isPublic: true }));
  return gateway;
}

async function begin({ log, files }: GatewayUnderTest) {
  return await startTask(log, newTaskId(), {
    direction: 'download',
    isPrivate: true,
    action: '7',
    at,
    store: files.store,
  });
}

/** What Node holds of answers of this process, by the port of who asked. */
function answersByPort(): ReadonlyMap<number, ServerResponse> {
  const answers = new Map<number, ServerResponse>();
  const channel = 'http.server.request.start';
  const onStart = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    answers.set(request.socket.remotePort ?? 0, response);
  };
  subscribe(channel, onStart);
  onTestFinished(() => void unsubscribe(channel, onStart));
  return answers;
}

/** Asks for something and never reads a byte of it; gives the port that asks. */
async function stall(base: string, path: string): Promise<number> {
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: gateway\r\n\r\n`);
  return socket.localPort ?? 0;
}

/** The answers to those who stall, once each of them waits for its reader. */
const waiting = (answers: ReadonlyMap<number, ServerResponse>, ports: readonly number[]) =>
  ports.flatMap((port) => answers.get(port) ?? []).filter((answer) => answer.writableNeedDrain || answer.destroyed);

it(
  'readers of a stream who stop reading cost 256 KiB at most, and nobody waits for them',
  { tags: ['S3.stream.slow'] },
  async () => {
    const gateway = await start();
    const answers = answersByPort();
    let task = await begin(gateway);
    const path = `/api/v1/downloads/cascade/${task.id}/status`;
    const ports = await Promise.all(Array.from({ length: 5 }, async () => await stall(gateway.url, path)));
    const [reader] = (await once(get(gateway.url + path, { agent: false }), 'response')) as [IncomingMessage];
    const lines = reader.setEncoding('utf8')[Symbol.asyncIterator]();
    let [read, last] = ['', 0];
    const readTo = async (id: number): Promise<void> => {
      while (last < id) {
        const { value, done } = (await lines.next()) as IteratorResult<string>;
        if (done === true) throw new Error(`The stream ended after event ${last}`);
        const whole = (read + value).split('\n\n');
        read = whole.pop() ?? '';
        for (const one of whole) {
          const seen = /^id: (\d+)\ndata/.exec(one)?.[1];
          if (seen === undefined) continue;
          expect(Number(seen)).toBe(last + 1);
          last += 1;
        }
      }
    };
    const step = { status: 'supernode:unknown', detail: { message: 'x'.repeat(300), eventType: 99, iteration: 1 } };
    let told = 1;
    // As many states as the sockets between take, which is for the system to say.
    for (let batch = 0; batch < 40 && waiting(answers, ports).length < ports.length; batch += 1) {
      task = await recordSteps(
        gateway.log,
        task,
        Array.from({ length: 500 }, () => step),
        at,
      );
      told += 500;
      await readTo(told);
    }
    const stalled = waiting(answers, ports);
    expect(stalled).toHaveLength(ports.length);
    for (const answer of stalled) expect(answer.writableLength).toBeLessThanOrEqual(mostUnread);
    await recordSteps(gateway.log, task, [{ status: 'sdk:completed' }], at);
    await readTo(told + 1);
    for (const answer of stalled) expect(answer.writableLength).toBeLessThanOrEqual(mostUnread);
  },
);

it('readers of a file who stop reading keep nobody from it', { tags: ['S3.stream.slow'] }, async () => {
  const gateway = await start();
  const answers = answersByPort();
  const task = await recordSteps(gateway.log, await begin(gateway), [{ status: 'sdk:completed' }], at);
  const bytes = Buffer.alloc(32 * 2 ** 20, 'the bytes of a file ');
  await writeFile(gateway.files.fetchedOf(task.name), bytes);
  const path = `/api/v1/downloads/cascade/${task.id}/file`;
  const ports = await Promise.all(Array.from({ length: 5 }, async () => await stall(gateway.url, path)));
  await expect.poll(() => waiting(answers, ports).length).toBe(ports.length);
  const answer = await fetch(gateway.url + path);
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  for (const one of waiting(answers, ports)) expect(one.writableLength).toBeLessThanOrEqual(2 * mostUnread);
});

it('readers of files are bounded, those of one address and all together', { tags: ['S3.stream.slow'] }, async () => {
  const gateway = await start();
  const answers = answersByPort();
  const task = await recordSteps(gateway.log, await begin(gateway), [{ status: 'sdk:completed' }], at);
  await writeFile(gateway.files.fetchedOf(task.name), Buffer.alloc(32 * 2 ** 20));
  const path = `/api/v1/downloads/cascade/${task.id}/file`;
  const ports = await Promise.all(Array.from({ length: 64 }, async () => await stall(gateway.url, path)));
  await expect.poll(() => waiting(answers, ports).length).toBe(ports.length);
  const statusFor = async (localAddress: string): Promise<number | undefined> => {
    const [answer] = (await once(get(gateway.url + path, { localAddress, agent: false }), 'response')) as [
      IncomingMessage,
    ];
    answer.destroy();
    return answer.statusCode;
  };
  expect([await statusFor('127.0.0.1'), await statusFor('127.0.0.2')]).toEqual([429, 200]);
});
