import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ask, get } from './ask.mjs';
import { answerOf, assertReadiness, CONTENT, watchReadiness } from './readiness.mjs';
import { leftProcesses, memoryOf, startInClone, untilNoneLeft } from './processes.mjs';

/** Every port that the program opens on the local network. */
const PORTS = [
  'PORT',
  'NATS_PORT',
  'NATS_WS_PORT',
  'LCD_PORT',
  'RPC_PORT',
  'GATEWAY_PORT',
  'EVM_HTTP_PORT',
  'EVM_WS_PORT',
];
const UP_WITHIN_MS = 300_000;
const ANSWER_WITHIN_MS = 30_000;
const CONTENT_WITHIN_MS = 120_000;
const DOWN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 50;

/**
 * `npm start` comes alive on free ports, shows real content in time, and ends at a SIGTERM with nothing left. Started
 * again it takes up its data, and nothing is left either when the program is killed with kill -9.
 */
export async function checkService(clone, { time, note }) {
  const free = await freePorts(PORTS.length);
  const ports = Object.fromEntries(PORTS.map((name, index) => [name, free[index]]));
  const port = ports.PORT;
  const api = `http://127.0.0.1:${port}`;
  const start = () => startInClone(clone, ['npm', 'start'], 'start.log', ports);
  const isReady = async () => (await get(`${api}/readyz`)).status === 200;

  const service = start();
  const readiness = watchReadiness(service, api);
  const urls = await time('npm start until its list of live URLs', () => untilListed(service, port));
  note('live URLs', urls.join(' '));
  await time('each of them answers', () => Promise.all(urls.map((url) => untilAnswered(service, url))));
  await time('real content', () => untilContent(service, api, note));
  await time('ready', () => until(service, CONTENT_WITHIN_MS, '200 from /readyz', () => readiness.routes));
  assertReadiness(readiness, note);
  note('memory of the whole tree', `${memoryOf(clone)} MB`);
  await time('stopped by SIGTERM, nothing left', async () => {
    service.child.kill('SIGTERM');
    await untilNoneLeft(clone, DOWN_WITHIN_MS);
  });

  const again = start();
  await time('npm start once more, until ready', () => until(again, UP_WITHIN_MS, '200 from /readyz', isReady));
  const program = leftProcesses(clone).find(({ command }) => command.includes('src/cli/main.ts'));
  await time('kill -9 of the program, nothing left', async () => {
    process.kill(program.pid, 'SIGKILL');
    await untilNoneLeft(clone, DOWN_WITHIN_MS);
  });
}

/** The addresses that the program listed, one at the end of each line, once its own API is among them. */
async function untilListed(service, port) {
  let found = [];
  const isWhole = () => {
    const listed = /^ +.*\b((?:https?|wss?|nats):\/\/(?:127\.[\d.]+|localhost):\d+\S*)$/gm;
    const before = found.length;
    found = [...new Set([...service.output().matchAll(listed)].map(([, url]) => url))];
    return found.length === before && found.some((url) => url.startsWith('http') && new URL(url).port === String(port));
  };
  await until(service, UP_WITHIN_MS, 'the list of live URLs', isWhole);
  return found;
}

/** Waits until an address answers as it should, and fails with what it said instead. */
async function untilAnswered(service, url) {
  let said = '';
  const answers = () =>
    ask(url).then(
      () => true,
      (error) => ((said = error.message), false),
    );
  await until(service, ANSWER_WITHIN_MS, `an answer from ${url}`, answers).catch((error) => {
    throw new Error(`${said}\n${error.message}`);
  });
}

/** Waits until every route that must show something does, and notes when each did. */
async function untilContent(service, api, note) {
  const started = performance.now();
  for (const route of Object.keys(CONTENT)) {
    let count = 0;
    await until(service, CONTENT_WITHIN_MS - (performance.now() - started), `content at ${route}`, async () => {
      ({ count } = await answerOf(api, route));
      return count > 0;
    });
    note(route, `${count} after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
}

/** Looks again and again; fails when the time is up or the service has ended, with what it wrote last. */
async function until(service, withinMs, what, isThere) {
  const deadline = performance.now() + withinMs;
  while (!(await isThere())) {
    const reason = service.hasEnded
      ? 'the service has ended'
      : performance.now() > deadline
        ? 'the time is up'
        : undefined;
    if (reason) throw new Error(`Waited for ${what}, but ${reason}. Its last lines:\n${lastLines(service.output())}`);
    await pause(LOOK_EVERY_MS);
  }
}

const lastLines = (text) => text.trimEnd().split('\n').slice(-25).join('\n');

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
