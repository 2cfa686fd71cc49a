import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { CascadeChain } from '../../../src/edges/chain/files/chain.ts';
import { taskOf } from '../../../src/edges/gateway/tasks/task-log.ts';
import { SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import {
  actionOver,
  begunUpload,
  finalize,
  type GatewayChanges,
  type GatewayUnderTest,
  gatewayUnderTest,
} from './gateway-under-test.ts';
import { bytes, good, refusing } from './misdeeds.ts';
import { chunksOf, finalized, historyOf, type Misdeed, serveNodes, taken, type Told } from './nodes-under-test.ts';

type Scene = Readonly<{
  nodes: readonly Misdeed[];
  changes?: GatewayChanges;
  chain?: Partial<CascadeChain>;
  /** What becomes of a finalization that a node reports. */
  onFinalized?: (gateway: GatewayUnderTest, id: string) => void;
  state?: string;
}>;

async function open({ nodes, changes, chain, onFinalized = finalize, state = 'pending' }: Scene) {
  const storers = await serveNodes(good, nodes, (id) => onFinalized(gateway, id));
  const fixed = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway = await gatewayUnderTest({ stallMs: 20_000, ...changes, chain: { ...fixed, ...chain } });
  onTestFinished(async () => {
    await sweep(gateway);
    await gateway[Symbol.asyncDispose]();
  });
  gateway.actions.set('7', await actionOver(bytes, { chainState: state, isPublic: true }));
  return gateway;
}

/** No upload is completed in the log whose action the chain does not have done; a seal or ten change nothing then. */
async function sweep({ log, actions }: GatewayUnderTest): Promise<void> {
  for (const { fact } of (await log.lastOfAll('transfer')).values()) {
    const known = taskOf(fact)?.known;
    if (fact.type === 'TransferCompleted' && known?.direction === 'upload')
      expect([known.action, actions.get(known.action)?.record.chainState]).toEqual([known.action, 'done']);
  }
}

async function uploaded(gateway: GatewayUnderTest): Promise<Told[]> {
  return await historyOf(gateway.url, 'uploads', await begunUpload(gateway, bytes));
}

async function fetched({ url }: GatewayUnderTest): Promise<Told[]> {
  const answer = await fetch(`${url}/api/v1/actions/cascade/7/downloads?public=true`, { method: 'POST' });
  const { task_id: task } = (await answer.json()) as { task_id: string };
  return await historyOf(url, 'downloads', task);
}

const attempts = (history: readonly Told[]) =>
  history.filter(({ status }) => status.endsWith('_attempt')).map(({ data }) => data);
const statuses = (history: readonly Told[]) => history.map(({ status }) => status);

describe('an upload', () => {
  it(
    'completes only once the chain has the action done, and its bytes stay until then',
    { tags: ['S3.states.chain'] },
    async () => {
      let sent = false;
      const gateway = await open({ nodes: [() => ({})], onFinalized: () => void (sent = true) });
      const task = await begunUpload(gateway, bytes);
      await expect.poll(() => sent).toBe(true);
      const history = async () =>
        (await (await fetch(`${gateway.url}/api/v1/actions/cascade/tasks/${task}/history`)).json()) as Told[];
      await expect.poll(async () => statuses(await history())).toContain('supernode:action_finalized');
      expect(statuses(await history())).not.toContain('sdk:completed');
      expect(await gateway.stored()).toEqual([task]);
      finalize(gateway, '7');
      expect((await historyOf(gateway.url, 'uploads', task)).at(-1)?.status).toBe('sdk:completed');
    },
  );

  it(
    'whose transaction never comes is given to the next node, and ends failed where none brings it',
    { tags: ['S3.states.chain'] },
    async () => {
      let times = 0;
      const second = (gateway: GatewayUnderTest, id: string): void => void ((times += 1) > 1 && finalize(gateway, id));
      const history = await uploaded(await open({ nodes: [() => ({}), () => ({})], onFinalized: second }));
      expect(history.at(-1)?.status).toBe('sdk:completed');
      expect(attempts(history)[1]?.['previous_error']).toContain('still pending 10 blocks after');
      const never = await uploaded(await open({ nodes: [() => ({})], onFinalized: () => undefined }));
      expect(never.at(-1)?.status).toBe('sdk:failed');
    },
  );

  it(
    'completes by the block of its transaction where the latest answer of the chain is of an older one',
    { tags: ['S3.states.chain'] },
    async () => {
      const old = await actionOver(bytes, { chainState: 'pending', isPublic: true });
      const done = await actionOver(bytes, { chainState: 'done', isPublic: true });
      const chain: Partial<CascadeChain> = {
        action: async (_id, height) => await Promise.resolve(height === 9 ? done : old),
        outcome: async () => await Promise.resolve({ code: 0, height: 9 }),
      };
      expect((await uploaded(await open({ nodes: [() => ({})], chain }))).at(-1)?.status).toBe('sdk:completed');
    },
  );

  it('whose transaction the chain refuses is given to the next node', { tags: ['S3.states.chain'] }, async () => {
    const chain = { outcome: async () => await Promise.resolve({ code: 11, height: 9 }) };
    let times = 0;
    const second = (gateway: GatewayUnderTest, id: string): void => void ((times += 1) > 1 && finalize(gateway, id));
    const history = await uploaded(await open({ nodes: [() => ({}), () => ({})], chain, onFinalized: second }));
    expect(history.at(-1)?.status).toBe('sdk:completed');
    expect(attempts(history)[1]?.['previous_error']).toContain('the chain refused its transaction with code 11');
  });

  it('names each attempt to its node by an id of its own', { tags: ['S3.nodes.attempt-id'] }, async () => {
    const ids: string[] = [];
    const seen = new Set<string>();
    const unique: Misdeed = () => ({
      async *register(requests, context) {
        let id = '';
        const read = async function* () {
          for await (const request of requests) {
            if (request.requestType.case === 'metadata') id = request.requestType.value.taskId;
            yield request;
          }
        };
        for await (const event of good.register(read(), context)) {
          if (seen.has(id)) throw new ConnectError('UNIQUE constraint failed: rq_symbols_dir.txid', Code.Internal);
          seen.add(id);
          ids.push(id);
          if (ids.length === 1) throw new ConnectError('peers are frozen', Code.Internal);
          yield event;
        }
      },
    });
    const gateway = await open({ nodes: [unique] });
    expect((await uploaded(gateway)).at(-1)?.status).toBe('sdk:completed');
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(id).toMatch(/^[\da-f]{32}-\d+$/);
  });

  it('leaves a node that has the file its own time to work', { tags: ['S3.nodes.processing'] }, async () => {
    const slow: Misdeed = () => ({
      async *register(requests) {
        await taken(requests);
        yield { eventType: SupernodeEventType.FINALIZE_SIMULATED, message: '', txHash: '' };
        await pause(2_500);
        yield finalized;
      },
    });
    const history = await uploaded(await open({ nodes: [slow], changes: { stallMs: 2_000, processingMs: 20_000 } }));
    expect(history.at(-1)?.status).toBe('sdk:completed');
    expect(attempts(history)).toHaveLength(1);
  });

  it(
    'waits for a chain that does not answer, and ends as the chain says then',
    { tags: ['S3.states.done', 'S3.nodes.chain-away'] },
    async () => {
      const away = { now: false, refused: 0 };
      const chain: Partial<CascadeChain> = {
        action: async (id) => {
          if (!away.now) return gateway.actions.get(id);
          away.refused += 1;
          if (away.refused > 2) away.now = false;
          throw new AppError('UNAVAILABLE', 'The chain cannot be asked');
        },
      };
      // Its chain has the action done when its stream breaks, and is away for a while.
      const breaking: Misdeed = (cut) => ({
        async *register(requests) {
          await taken(requests);
          finalize(gateway, '7');
          away.now = true;
          cut();
          yield finalized;
        },
      });
      const gateway: GatewayUnderTest = await open({ nodes: [breaking], chain });
      const history = await uploaded(gateway);
      expect(statuses(history).slice(-2)).toEqual(['sdk:registration_successful', 'sdk:completed']);
      expect(attempts(history)).toHaveLength(1);
      expect(away.refused).toBe(3);
    },
  );
});

describe('a download', () => {
  const spreading = (refusals: number): Misdeed => {
    let left = refusals;
    return () => ({
      async *download() {
        left -= 1;
        if (left >= 0) throw new ConnectError('insufficient symbols: have 780 want 1099', Code.Internal);
        yield* chunksOf(bytes);
      },
    });
  };

  it(
    'waits for nodes that are still spreading the symbols, and says so',
    { tags: ['S3.download.spreading'] },
    async () => {
      const history = await fetched(await open({ nodes: [spreading(5), refusing], state: 'done' }));
      expect(history.at(-1)?.status).toBe('sdk:completed');
      const waiting = history.filter(({ status }) => status === 'sdk:download_waiting');
      expect(waiting.length).toBeGreaterThan(0);
      expect(waiting[0]?.data).toMatchObject({
        previous_error: expect.stringContaining('insufficient symbols') as string,
      });
      expect(attempts(history).map(({ iteration }) => iteration)).toEqual(attempts(history).map((_, at) => at + 1));
    },
  );

  it(
    'ends where symbols are lacking for ever, or no node lacks them',
    { tags: ['S3.download.spreading'] },
    async () => {
      const history = await fetched(await open({ nodes: [spreading(Infinity)], state: 'done' }));
      expect(history.at(-1)).toMatchObject({ status: 'sdk:failed', data: { code: 'SERVICE_UNAVAILABLE' } });
      expect(statuses(await fetched(await open({ nodes: [refusing], state: 'done' })))).not.toContain(
        'sdk:download_waiting',
      );
    },
  );
});

it('a text that is cut keeps its last character', { tags: ['S3.nodes.events'] }, async () => {
  const wordy: Misdeed = () => ({
    async *register(requests, context) {
      yield { eventType: 99 as SupernodeEventType, message: `${'a'.repeat(299)}😀`, txHash: '' };
      yield* good.register(requests, context);
    },
  });
  const history = await uploaded(await open({ nodes: [wordy] }));
  const told = String(history.find(({ status }) => status === 'supernode:unknown')?.data['message']);
  expect([told.isWellFormed(), told]).toEqual([true, 'a'.repeat(299)]);
});
