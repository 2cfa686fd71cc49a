import { wsconnect } from '@nats-io/transport-node';
import { existsSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { misfitsIn, openMessages, webSocketIn } from '../../edges/http/live-messages.ts';
import { isArchived, streams, streamTable } from '../../../src/events/streams.ts';
import { projectionNames } from '../../../src/projections/projection.ts';
import { withoutNetwork } from '../../support/figures.ts';
import { until } from '../../support/polling.ts';
import { type Program, startProgram } from '../../support/programs/program.ts';
import { expectAnsweredAtAddresses } from './answered-at-addresses.ts';
import { expectExplored } from './explored-in-browser.ts';
import { expectKilledAndRevived } from './killed-and-revived.ts';
import { expectMovedByGateway } from './moved-by-gateway.ts';
import { expectMovedByPage } from './moved-by-page.ts';
import { expectMovedByVerbs } from './moved-by-verbs.ts';
import { retireEarlier } from './retire-earlier.ts';
import { expectSyncedOnRequest } from './synced-on-request.ts';
import { expectStoredAtBeginning } from './stored-at-beginning.ts';
import { expectStoredByNodes } from './stored-by-nodes.ts';
import { expectToldByNodes } from './told-by-nodes.ts';
import { jsonLines, runVerb, runVerbUnread } from '../../support/programs/verb.ts';

type Json = Record<string, unknown>;

/** Loopback addresses of its own, so that a local network that runs here already is not in the way. */
const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;

let program: Program;
const ask = async (path: string, init?: RequestInit) => await fetch(`${program.base}${path}`, init);
const json = async (path: string): Promise<Json> => (await (await ask(path)).json()) as Json;
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);

beforeAll(async () => {
  program = await startProgram({
    network: 'local',
    env: {
      LOCAL_SUBNET: subnet,
      LOCAL_OUTAGES: 'off',
      EVM_NAMESPACES: 'eth,net,web3,rpc,ots',
      PROBE_INTERVAL: '3s',
      ACTIONS_SYNC_INTERVAL: '1s',
      ALLOW_MANUAL_SYNC: 'true',
      SYNC_TOKEN: 'let-me-in',
      SUPERNODES_SYNC_INTERVAL: '1h',
      VALIDATORS_SYNC_INTERVAL: '1h',
    },
  });
  await program.untilReady();
});

describe('annals up without a chain', () => {
  it('answers at every address it prints, the administration at none', { tags: ['S2.start.live'] }, async () => {
    await expectAnsweredAtAddresses(program.instance.urls);
  });

  it('shows actions, SuperNodes that are up and SuperNodes that are not', { tags: ['S2.start.content'] }, async () => {
    const actions = await until('actions are listed', async () => {
      const found = await json('/v1/actions?include_transactions=true');
      return Number(found['total']) >= 30 && found;
    });
    expect(list(actions['actions'])[0]).toMatchObject({
      id: String(actions['total']),
      transactions: { register: { height: expect.any(Number) } },
    });
    const up = await until('a SuperNode is up', async () => {
      const found = list((await json('/v1/supernodes/metrics?status=available'))['supernodes']);
      return found.length > 0 && found;
    });
    expect(up[0]).toMatchObject({
      version: expect.stringMatching(/^v\d/),
      cpu_cores: expect.any(Number),
      registered_services: ['cascade'],
    });
    expect(list((await json('/v1/supernodes/unavailable'))['supernodes']).length).toBeGreaterThan(0);
    expect(Number((await json('/v1/supernodes/stats'))['total_supernodes'])).toBeGreaterThan(3);
  });

  it('serves pages that load nothing from elsewhere', { tags: ['S2.docs.self'] }, async () => {
    for (const page of ['/', '/docs']) {
      const answer = await ask(page);
      const html = await answer.text();
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
      const loaded = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
      for (const path of loaded) expect((await ask(path)).status).toBe(200);
    }
  });
});

describe('the SuperNodes', () => {
  it('tell every client who they are, and the API what they are', { tags: ['S1.indexer'] }, async () => {
    const available = async () => list((await json('/v1/supernodes/metrics?status=available'))['supernodes']);
    await expectToldByNodes(subnet, available, withoutNetwork(await (await ask('/metrics')).text()));
  });

  it('give out what they hold from the beginning, and what is registered', { tags: ['S1.local.files'] }, async () => {
    await expectStoredAtBeginning(subnet, json);
    await expectStoredByNodes(subnet, program.dataDir, json);
  });
});

describe('the gateway', () => {
  it.each(['--public', '--private'])('gives a %s file to the SuperNodes and fetches it back', async (visibility) => {
    const { gateway = '' } = program.instance.urls;
    await expectMovedByGateway(gateway, program.dataDir, visibility);
  });

  it('moves files by its verbs and by its page', { tags: ['S3.verbs', 'S3.page'] }, async () => {
    await expectMovedByVerbs(program.dataDir);
    await expectMovedByPage(program.instance.urls['gateway'] ?? '', program.base);
  });
});

describe('outsiders', () => {
  it('read live actions and probes over WebSocket as the README shows, each as /asyncapi.json has it', async () => {
    const check = await openMessages(program.base);
    const nc = await wsconnect({ servers: await webSocketIn(program.base) });
    for (const kind of ['action', 'probe']) {
      for await (const message of nc.subscribe(`live.${kind}.>`, { max: 1 })) {
        expect(message.json()).toMatchObject({ specversion: '1.0', source: 'annals/local', data: expect.anything() });
        expect(check(message.string(), `live_${kind}`)).toEqual([]);
      }
    }
    await nc.close();
  });

  it('read the same as server-sent events, and every public log from its beginning', async () => {
    const stop = new AbortController();
    const answer = await ask('/live', { signal: stop.signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!/^data: .*annals\..*\n/m.test(text)) text += (await reader?.read())?.value ?? '';
    stop.abort();
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    expect((await openMessages(program.base))(/^data: (.*annals\..*)\n/m.exec(text)?.[1] ?? '', 'live')).toEqual([]);
    expect(await misfitsIn(program.base)).toEqual([]);
  });
});

describe('POST /v1/supernodes/sync', () => {
  it(
    'is answered by rounds of SuperNodes and validators that name it as their cause, then by probes',
    { tags: ['S2.sync.cause'] },
    async () => {
      await expectSyncedOnRequest(program);
    },
  );
});

describe('the explorer', () => {
  it(
    'shows every page in a browser, to every reader, with nothing from elsewhere',
    { tags: ['S2.docs.self'] },
    async () => {
      const { gateway = '', 'json-rpc': evm = '' } = program.instance.urls;
      await expectExplored({ base: program.base, gateway, evm }, json);
    },
  );
});

describe('SuperNodes that are killed', () => {
  it('are unavailable until they are back', { tags: ['S1.indexer'] }, async () => {
    await expectKilledAndRevived(program.instance.pid, json);
  });
});

describe('the command line', () => {
  it('annals status finds the instance by itself and shows streams, projections and sync', async () => {
    const [status] = jsonLines(await runVerb(program.dataDir, 'status', '--json'));
    expect(list(status?.['projections']).map((one) => one['projection'])).toEqual(projectionNames.toSorted());
    expect(list(status?.['streams']).map((one) => one['stream'])).toEqual(streams);
    expect(list(status?.['sync']).map((one) => one['source'])).toContain('actions');
    expect((await runVerb(program.dataDir, 'status')).stdout).toContain('PROJECTION');
  });

  it('annals register makes a pending action of a file, which the API lists with its hash', async () => {
    const file = `${program.dataDir}/to register.txt`;
    writeFileSync(file, 'abc');
    const ran = await runVerb(program.dataDir, 'register', file, '--public', '--json');
    const [made] = jsonLines(ran);
    expect(made).toMatchObject({
      action_id: expect.stringMatching(/^\d+$/),
      creator: expect.stringMatching(/^lumera1/),
      data_hash: 'ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=',
      height: expect.any(Number),
      tx_hash: expect.stringMatching(/^[0-9A-F]{64}$/),
    });
    const shown = await until('the action is indexed', async () => {
      const found = await json(`/v1/actions/${String(made?.['action_id'])}`);
      return found['creator'] === made?.['creator'] && found;
    });
    expect(shown).toMatchObject({ status: 'registered', data_hash: made?.['data_hash'], height: made?.['height'] });
    const again = await runVerb(program.dataDir, 'register', file, '--private', '--key-type', 'secp256k1', '--json');
    expect(jsonLines(again)[0]).toMatchObject({ creator: expect.not.stringMatching(String(made?.['creator'])) });
    expect(await runVerb(program.dataDir, 'register', file)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('--public or --private'),
    });
  });

  it('annals accounts shows the funded keys in both forms, with a warning', async () => {
    const ran = await runVerb(program.dataDir, 'accounts', '--json');
    expect(jsonLines(ran)[0]).toMatchObject({
      warning: expect.stringContaining('keys'),
      accounts: expect.arrayContaining([
        {
          index: 0,
          address: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
          eth_account: 'lumera17w0adeg64ky0daxwd2ugyuneellmjgnxmzmf9j',
          cosmos_account: 'lumera15428vq2uzwhm3taey9sr9x5vm6tk78ewpt4yqt',
          private_key: expect.stringMatching(/^ac09/),
        },
      ]),
    });
  });

  it('annals tail prints events from the start of the log', async () => {
    const ran = await runVerb(program.dataDir, 'tail', 'evt.action.*.1', '--from', 'start', '--limit', '1', '--json');
    expect(jsonLines(ran)).toEqual([
      expect.objectContaining({ stream: 'ACTIONS', sequence: 1, subject: '1', type: 'annals.ActionRegistered.v1' }),
    ]);
  });

  it('annals tail ends in peace when its reader has seen enough', async () => {
    const ran = await runVerbUnread(program.dataDir, 'tail', '--from', 'start');
    expect([ran.status, ran.stderr]).toEqual([0, '']);
  });

  it('annals replay rebuilds every read model and switches to it', async () => {
    const before = await json('/v1/actions/1');
    const done = jsonLines(await runVerb(program.dataDir, 'replay', 'all', '--json'));
    expect(done.map((one) => [one['projection'], one['generation']])).toEqual(projectionNames.map((name) => [name, 2]));
    expect(await json('/v1/actions/1')).toEqual(before);
  });

  it('annals replay all --back goes back with those that can, and names the others', async () => {
    await retireEarlier(program);
    const dropped = await runVerb(program.dataDir, 'replay', 'supernodes', '--drop-previous');
    expect(dropped).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout, stderr } = await runVerb(program.dataDir, 'replay', 'all', '--back');
    expect([status, stderr]).toEqual([1, expect.stringContaining('Projection supernodes has no previous generation')]);
    const back = projectionNames.filter((name) => name !== 'supernodes');
    expect(stdout.match(/^\w+(?=: generation 1 is live again)/gm)).toEqual(back);
  });

  it('annals scrub and annals repair compare every stream with its archive, and say how far that goes', async () => {
    for (const args of [['scrub'], ['repair', '--dry-run']]) {
      const ran = await runVerb(program.dataDir, ...args, '--json');
      expect(ran.status, ran.stderr).toBe(0);
      const told = jsonLines(ran);
      const others = streams.filter((name) => name !== 'OPS' && isArchived(streamTable[name]));
      // Acts on the others are recorded there, and would wait for it.
      expect(told.map((one) => one['stream'])).toEqual(['OPS', ...others]);
      for (const one of told) {
        expect(one).toMatchObject({ state: 'whole', damaged: false, done: [], events: one['position'] });
        expect(Number(one['last'])).toBeGreaterThanOrEqual(Number(one['position']));
      }
    }
  });

  it('annals doctor says what was found, and every verb has --help', async () => {
    const [findings] = jsonLines(await runVerb(program.dataDir, 'doctor', '--json'));
    expect(Object.values(findings ?? {}).map((one) => (one as Json)['what'])).toEqual([
      'Node',
      'nats-server',
      'PostgreSQL',
      'data',
      'cache',
      'instance',
      'chain',
    ]);
    for (const verb of ['up', 'status', 'tail', 'replay', 'scrub', 'repair', 'rekey', 'doctor', 'reset']) {
      const { status, stdout } = await runVerb(program.dataDir, verb, '--help');
      expect(status).toBe(0);
      expect(stdout).toContain('--json');
    }
  });

  it('refuses what cannot be done in one line that says what to do', async () => {
    const wrong = await runVerb(program.dataDir, 'replay', 'nothing', '--json');
    expect(wrong.status).toBe(1);
    expect(JSON.parse(wrong.stderr)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      error: expect.stringContaining('actions, supernodes'),
    });
    const inUse = await runVerb(program.dataDir, 'reset');
    expect(inUse.status).toBe(1);
    expect(inUse.stderr).toContain(`in use by process ${program.pid}`);
  });

  it('annals reset begins anew once the instance has stopped', async () => {
    expect(await program.stop()).toBe(0);
    expect((await runVerb(program.dataDir, 'status')).stderr).toContain('No running instance');
    expect((await runVerb(program.dataDir, 'reset')).status).toBe(0);
    expect(existsSync(program.folder)).toBe(false);
  });
});
