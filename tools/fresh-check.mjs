/**
 * Shows that a fresh clone of HEAD runs: in a temporary folder with an empty HOME and empty caches `npm start` comes up
 * on free ports and lists actions, and neither SIGTERM nor kill -9 leaves a process behind; then `npm test` passes,
 * which asks all the rest. Needs Linux (`/proc`); a check as `nobody` needs root.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { root } from './boot/paths.mjs';

const settings = 'PORT NATS_PORT NATS_WS_PORT LCD_PORT RPC_PORT GATEWAY_PORT EVM_HTTP_PORT EVM_WS_PORT'.split(' ');
const nobody = 65534;
const { values: options } = parseArgs({
  options: {
    user: { type: 'string', default: process.getuid() === 0 ? 'both' : 'self' },
    'no-test': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

for (const user of options.user === 'both' ? ['root', 'nobody'] : [options.user]) {
  console.log(`\nfresh clone as ${user}`);
  const base = mkdtempSync(path.join(tmpdir(), 'annals-fresh-'));
  try {
    const run = await step('clone', () => cloned(base, user));
    await checkStart(base, run);
    if (!options['no-test']) await checkTests(base, run);
    console.log('           everything: ok');
  } catch (error) {
    console.log(`           FAILED: ${error.message}`);
    process.exitCode = 1;
    for (const { pid } of processesIn(base)) process.kill(pid, 'SIGKILL');
  } finally {
    if (options.keep) console.log(`           kept: ${base}`);
    else rmSync(base, { recursive: true, force: true });
  }
}

/** Runs a step and prints how long it took, and what it returned where that is text. */
async function step(name, work) {
  const started = performance.now();
  const result = await work();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${seconds.padStart(8)} s  ${name}${typeof result === 'string' ? `: ${result}` : ''}`);
  return result;
}

/** Clones HEAD for a user; returns what starts a command there, with nothing of this environment but the network's. */
function cloned(base, user) {
  chmodSync(base, 0o711);
  const folder = path.join(base, 'annals');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, folder]);
  const [home, npm, cache, tmp] = ['home', 'npm', 'cache', 'tmp'].map((name) => path.join(base, name));
  for (const one of [home, npm, cache, tmp]) mkdirSync(one);
  if (user === 'nobody') execFileSync('chown', ['-R', `${nobody}:${nobody}`, base]);
  const network = /^(PATH|LANG|LC_ALL|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;
  const configured = (name) => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
  const authority = configured('cafile');
  const environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => network.test(name))),
    ...(authority !== '' && authority !== 'null' && { npm_config_cafile: authority }),
    HOME: home,
    TMPDIR: tmp,
    ANNALS_CACHE: cache,
    ANNALS_FRESH: base,
    npm_config_cache: npm,
    npm_config_registry: configured('registry'),
    npm_config_update_notifier: 'false',
  };
  const wrap = user === 'nobody' ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : [];
  return (command, logName, more = {}) => {
    const file = path.join(base, logName);
    const log = openSync(file, 'w');
    const [program, ...args] = [...wrap, ...command];
    const stdio = ['ignore', log, log];
    const child = spawn(program, args, { cwd: folder, env: { ...environment, ...more }, stdio, detached: true });
    closeSync(log);
    const started = { child, ended: once(child, 'exit'), hasEnded: false, output: () => readFileSync(file, 'utf8') };
    child.once('exit', () => (started.hasEnded = true));
    return started;
  };
}

async function checkStart(base, run) {
  const servers = settings.map(() => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  // A subnet of its own, so that it runs beside another local network.
  const subnet = `127.${randomInt(20, 220)}.${randomInt(256)}`;
  const ports = { LOCAL_SUBNET: subnet };
  for (const [at, server] of servers.entries()) ports[settings[at]] = server.address().port;
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  const api = `http://127.0.0.1:${ports.PORT}`;
  const start = () => run(['npm', 'start'], 'start.log', ports);
  const readiness = async () => (await fetch(`${api}/readyz`).catch(() => ({ status: 0 }))).status;

  const service = start();
  const isReady = async () => (await readiness()) === 200;
  if (await isReady()) throw new Error('/readyz was 200 before anything had started');
  await step('npm start until /readyz is 200', () => until(service, 300_000, 'readiness', isReady));
  await step('actions are listed', () =>
    until(service, 120_000, 'an action', async () => {
      const answer = await fetch(`${api}/v1/actions`);
      if (answer.status !== 200) throw new Error(`/v1/actions answered ${answer.status} after /readyz was 200`);
      return (await answer.json()).actions.length > 0;
    }),
  );
  await step('SIGTERM, nothing left', () => gone(base, () => service.child.kill('SIGTERM')));

  const again = start();
  await step('npm start once more', () => until(again, 300_000, 'readiness', isReady));
  const program = processesIn(base).find(({ command }) => command.includes('cli/main.ts'));
  await step('kill -9 of the program, nothing left', () => gone(base, () => process.kill(program.pid, 'SIGKILL')));
}

async function checkTests(base, run) {
  const tests = run(['npm', 'test'], 'test.log');
  const [code] = await step('npm test', () => tests.ended);
  const [tally, failed] = [...tests.output().matchAll(/^\d+ passed, (\d+) failed/gm)].at(-1) ?? ['no tally'];
  console.log(`           ${tally}`);
  if (code !== 0 || failed !== '0') throw new Error(`npm test ended with ${code}.\n${lastLines(tests, 60)}`);
  await gone(base, () => undefined);
}

/** Waits for something; fails when the time is up or the service has ended, with what it wrote last. */
async function until(service, withinMs, what, isThere) {
  const deadline = performance.now() + withinMs;
  while (!(await isThere())) {
    if (service.hasEnded || performance.now() > deadline)
      throw new Error(`Waited for ${what} in vain. Its last lines:\n${lastLines(service, 25)}`);
    await pause(50);
  }
}

function lastLines(service, count) {
  return service.output().trimEnd().split('\n').slice(-count).join('\n');
}

/** Processes of the clone: they carry its folder in their environment or on their command line. */
function processesIn(base) {
  const own = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const all = own.map((pid) => ({
    pid: Number(pid),
    command: proc(pid, 'cmdline').replaceAll('\0', ' '),
    env: proc(pid, 'environ'),
  }));
  return all.filter(
    ({ command, env }) => command !== '' && (command.includes(base) || env.includes(`ANNALS_FRESH=${base}`)),
  );
}

/** Ends what runs and waits until no process is left. */
async function gone(base, end) {
  end();
  for (let left = processesIn(base), tries = 0; left.length > 0; left = processesIn(base), tries += 1) {
    if (tries > 600)
      throw new Error(`still running:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`);
    await pause(50);
  }
}

function proc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
