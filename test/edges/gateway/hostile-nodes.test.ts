import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import { actionOver, creatorKey, finalize, gatewayUnderTest } from './gateway-under-test.ts';
import { bytes, foreverMs, good, misdeeds, oddly, refusing, stalling, still } from './misdeeds.ts';
import { finalized, historyOf, type Misdeed, type Served, serveNodes, taken, type Told } from './nodes-under-test.ts';

/** How long nothing may move: where a node is to be left for that, and where it is not, however busy the machine is. */
const [shortMs, patientMs] = [400, 20_000];

async function start(nodes: readonly Served[], chainState: string, stallMs = patientMs) {
  const storers = await serveNodes(good, nodes, (id) => finalize(gateway, id));
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway = await gatewayUnderTest({ chain, stallMs });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  const action = await actionOver(bytes, { chainState, isPublic: true });
  gateway.actions.set('7', action);
  return { gateway, url: gateway.url, signature: signText(creatorKey, action.file?.dataHash ?? '') };
}

async function fetched(nodes: readonly Served[], stallMs?: number) {
  const { url } = await start(nodes, 'done', stallMs);
  const asked = await fetch(`${url}/api/v1/actions/cascade/7/downloads?public=true`, { method: 'POST' });
  const { task_id: task } = (await asked.json()) as { task_id: string };
  const history = await historyOf(url, 'downloads', task);
  const file = await fetch(`${url}/api/v1/downloads/cascade/${task}/file`);
  return { history, status: file.status, body: Buffer.from(await file.arrayBuffer()) };
}

async function uploaded(nodes: readonly Served[], stallMs?: number): Promise<Told[]> {
  const { url, signature } = await start(nodes, 'pending', stallMs);
  return await uploadedTo(url, signature);
}

async function uploadedTo(url: string, signature: string): Promise<Told[]> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ action_id: '7', signature })) form.append(name, value);
  form.append('file', new Blob([bytes]), 'file.bin');
  const answer = await fetch(`${url}/api/v1/actions/cascade`, { method: 'POST', body: form });
  const { task_id: task } = (await answer.json()) as { task_id: string };
  return await historyOf(url, 'uploads', task);
}

const attempts = (history: readonly Told[]) =>
  history.filter(({ status }) => /^sdk:(download|registration)_attempt$/.test(status)).map(({ data }) => data);

/** The states that end a task, each with its code. */
const endOf = (history: readonly Told[]) =>
  history.filter(({ data }) => data['code'] !== undefined).map(({ status, data }) => [status, data['code']]);

describe.each(misdeeds)('a SuperNode that %s', (_, misdeed, ofDownload, ofUpload) => {
  const stallMs = misdeed === stalling ? shortMs : undefined;
  it('costs one attempt, and the next node serves', { tags: ['S3.nodes.hostile'] }, async () => {
    const { history, status, body } = await fetched([misdeed, () => ({})], stallMs);
    expect([history.at(-1)?.status, status, body.equals(bytes)]).toEqual(['sdk:completed', 200, true]);
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, previous_error: expect.any(String) }]);
    const upload = await uploaded([misdeed, () => ({})], stallMs);
    expect(upload.at(-1)?.status).toBe('sdk:completed');
    expect(attempts(upload)).toMatchObject([{ iteration: 1 }, { iteration: 2, previous_error: expect.any(String) }]);
  });

  it(
    'that is the only one ends the task with what it did, and no byte is given out',
    { tags: ['S3.nodes.hostile', 'S3.nodes.rounds', 'S3.states.failure', 'C8.11'] },
    async () => {
      const { history, status, body } = await fetched([misdeed], stallMs);
      expect(attempts(history)).toHaveLength(2);
      expect(endOf(history)).toEqual([['sdk:failed', 'SERVICE_UNAVAILABLE']]);
      expect(history.at(-1)?.data['error']).toContain(ofDownload);
      expect([status, JSON.parse(body.toString())]).toMatchObject([409, { code: 'CONFLICT' }]);
      const upload = await uploaded([misdeed], stallMs);
      expect(attempts(upload)).toHaveLength(2);
      expect(endOf(upload).at(-1)).toEqual(['sdk:failed', 'SERVICE_UNAVAILABLE']);
      expect(upload.at(-1)?.data['error']).toContain(ofUpload);
    },
  );
});

it('nodes that nobody reaches are told as such', { tags: ['S3.states.failure', 'S3.nodes.rounds'] }, async () => {
  for (const history of [(await fetched(['absent'])).history, await uploaded(['absent'])]) {
    expect(attempts(history)).toHaveLength(2);
    expect(endOf(history)).toEqual([
      ['sdk:supernodes_unavailable', 'SERVICE_UNAVAILABLE'],
      ['sdk:failed', 'SERVICE_UNAVAILABLE'],
    ]);
  }
});

it('a node that is away hides nothing of one that was there', { tags: ['S3.states.failure'] }, async () => {
  const history = await uploaded([refusing, 'absent']);
  expect(attempts(history)).toHaveLength(4);
  expect(endOf(history)).toEqual([['sdk:failed', 'SERVICE_UNAVAILABLE']]);
  expect(history.at(-1)?.data['error']).toContain('lumera1node0: [internal] not today');
});

it('ten attempts are made at most', { tags: ['S3.nodes.rounds'] }, async () => {
  const nodes = Array.from({ length: 6 }, () => refusing);
  for (const history of [(await fetched(nodes)).history, await uploaded(nodes)]) {
    const tried = attempts(history).map((data) => data['sn-address']);
    expect(tried).toEqual([0, 1, 2, 3, 4, 5, 0, 1, 2, 3].map((index) => `lumera1node${index}`));
    expect(history.at(-1)?.data['error']).toContain('in 10 attempts');
  }
});

it(
  'a node that has the whole file and says no more ends the task as its processing',
  { tags: ['S3.states.failure', 'C8.11'] },
  async () => {
    const history = await uploaded([stalling], shortMs);
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2 }]);
    expect(history.slice(-2)).toMatchObject([
      { status: 'sdk:processing_timeout', data: { code: 'SERVICE_UNAVAILABLE' } },
      { status: 'sdk:failed', data: { error: expect.stringContaining('nothing moved for too long') as string } },
    ]);
  },
);

it(
  'a node that takes a quarter of a file and no more is not told as processing it',
  { tags: ['S3.states.failure'] },
  async () => {
    const halting: Misdeed = () => ({
      async *register(requests) {
        await taken(requests, bytes.length / 4);
        await pause(foreverMs, undefined, { ref: false });
        yield finalized;
      },
    });
    const history = await uploaded([halting], shortMs);
    expect(history.map(({ status }) => status)).not.toContain('sdk:upload_completed');
    expect(endOf(history)).toEqual([['sdk:failed', 'SERVICE_UNAVAILABLE']]);
    expect(history.at(-1)?.data['error']).toContain(still);
  },
);

it('an upload that breaks off after the chain has it done is complete', { tags: ['S3.states.done'] }, async () => {
  const done = await actionOver(bytes, { chainState: 'done' });
  const breaking: Misdeed = (cut) => ({
    async *register(requests) {
      await taken(requests);
      under.actions.set('7', done);
      yield { eventType: SupernodeEventType.ACTION_RETRIEVED, message: '', txHash: '' };
      cut();
      await pause(foreverMs, undefined, { ref: false });
    },
  });
  const { gateway: under, url, signature } = await start([breaking, () => ({})], 'pending');
  const history = await uploadedTo(url, signature);
  expect(attempts(history)).toHaveLength(1);
  expect(history.slice(-2).map(({ status }) => status)).toEqual(['sdk:registration_successful', 'sdk:completed']);
});

it('states come in their order, with what the real client tells', { tags: ['S3.states.order'] }, async () => {
  const told = (history: readonly Told[]) =>
    history.map(({ status, data }) => [status, ...Object.keys(data).toSorted()].join(' '));
  const attempt = 'action_id iteration sn-address supernode';
  const sizes = 'action_id bytes_total chunk_size';
  expect(told(await uploaded([() => ({})]))).toEqual([
    'sdk:started action_id',
    'sdk:supernodes_found action_id count total',
    `sdk:registration_attempt ${attempt}`,
    `sdk:connection_established ${attempt}`,
    `sdk:upload_started ${sizes} est_chunks iteration`,
    `sdk:upload_completed ${sizes} chunks elapsed_seconds iteration`,
    'sdk:processing_started action_id iteration',
    'supernode:action_finalized action_id event_type iteration message',
    'sdk:txhash_received action_id txhash',
    'sdk:registration_successful action_id',
    'sdk:completed action_id',
  ]);
  expect(told((await fetched([() => ({})])).history)).toEqual([
    'sdk:started action_id',
    'sdk:supernodes_found action_id count total',
    `sdk:download_attempt ${attempt}`,
    'sdk:download_started action_id iteration',
    'sdk:download_completed action_id bytes_total chunks elapsed_seconds iteration',
    'sdk:completed action_id',
  ]);
});

it(
  'events that nobody knows are shown cleaned, and keep nothing from its end',
  { tags: ['S3.nodes.events'] },
  async () => {
    const telling = oddly(() => ({}));
    const { history, status, body } = await fetched([telling]);
    expect([status, body.equals(bytes)]).toEqual([200, true]);
    for (const told of [history, await uploaded([telling])]) {
      const shown = told.find(({ status: name }) => name === 'supernode:unknown');
      expect(shown?.data).toMatchObject({ event_type: 99, message: `a b ${'c'.repeat(296)}` });
      expect(told.at(-1)?.status).toBe('sdk:completed');
    }
  },
);

it('a node that tells without end is left', { tags: ['S3.nodes.events'], timeout: 120_000 }, async () => {
  const babbling: Misdeed = () => ({
    async *download() {
      for (;;) yield { responseType: { case: 'event' as const, value: { eventType: 1, message: 'on and on' } } };
    },
  });
  const { history, status } = await fetched([babbling, () => ({})]);
  expect(status).toBe(200);
  // A busy machine may have the task taken up anew, so the last attempt is the one that comes after it.
  expect(attempts(history).at(-1)).toMatchObject({ previous_error: 'the node told more than 1000 events' });
});
