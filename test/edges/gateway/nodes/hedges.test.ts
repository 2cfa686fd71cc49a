import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFailures, type Failures } from '../../../../src/edges/gateway/nodes/failures.ts';
import { createHedges, type Hedges } from '../../../../src/edges/gateway/nodes/hedges.ts';
import { SupernodeEventType } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { actionOver, begunUpload, finalize, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { bytes, good, refusing } from '../misdeeds.ts';
import {
  chunksOf,
  finalized,
  historyOf,
  type Misdeed,
  type Node,
  serveNodes,
  taken,
  type Told,
} from '../nodes-under-test.ts';

/** Nothing is ever left for its silence here: what ends an attempt is the end of another. */
const patientMs = 60_000;

/** Any attempt is slow that is silent for a moment. */
const quickPace = (): Hedges => ({ ...createHedges(), patienceMs: () => 50 });

/** Remembers what is said of nodes. */
function observedFailures() {
  const said: string[] = [];
  const failures: Failures = {
    ...createFailures(),
    failed: (account) => void said.push(`${account} failed`),
    overtaken: (account) => void said.push(`${account} overtaken`),
    succeeded: (account) => void said.push(`${account} succeeded`),
  };
  return { said, failures };
}

/** A gateway before such nodes that has an action's file to give, or to fetch. */
async function start(nodes: readonly Misdeed[], { hedges, transferSpace, ...of }: Changes = {}) {
  const { said, failures } = observedFailures();
  const onChain: string[] = [];
  const storers = await serveNodes(good, nodes, (id) => {
    onChain.push(id);
    finalize(gateway, id);
  });
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const pace = hedges ? { hedges } : {};
  const changes = { chain, ...pace, failures, stallMs: patientMs, settings: { transferSpace } };
  const gateway: GatewayUnderTest = await gatewayUnderTest(changes);
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(bytes, of));
  return { gateway, said, onChain };
}

type Changes = Readonly<{ hedges?: Hedges; transferSpace?: number }> & Parameters<typeof actionOver>[1];

async function fetched(nodes: readonly Misdeed[], changes: Changes = {}) {
  const stored = { chainState: 'done', isPublic: true, fileSizeKbs: Math.floor(bytes.length / 1024) };
  const { gateway, said } = await start(nodes, { ...stored, ...changes });
  const init = { method: 'POST' };
  const answer = await fetch(`${gateway.url}/api/v1/actions/cascade/7/downloads?public=true`, init);
  const { task_id: task } = (await answer.json()) as { task_id: string };
  const history = await historyOf(gateway.url, 'downloads', task);
  const file = await fetch(`${gateway.url}/api/v1/downloads/cascade/${task}/file`);
  const isWhole = Buffer.from(await file.arrayBuffer()).equals(bytes);
  return { history, said, isWhole, left: await readdir(path.join(gateway.files.folder, 'fetched')), task };
}

async function uploaded(nodes: readonly Misdeed[], hedges = quickPace()) {
  const { gateway, said, onChain } = await start(nodes, { hedges });
  const task = await begunUpload(gateway, bytes);
  return { history: await historyOf(gateway.url, 'uploads', task), said, onChain };
}

const attempts = (history: readonly Told[]) =>
  history.filter(({ status }) => /^sdk:(registration|download)_attempt$/.test(status)).map(({ data }) => data);
const count = (history: readonly Told[], name: string) => history.filter(({ status }) => status === name).length;
const beside = 'the attempt before it is slow and continues beside it';

/** Has the complete file, and no word for it until its call is cancelled. */
function silent(onEnd: () => void, ids: string[] = []): Misdeed {
  return () => ({
    async *register(requests, { signal }) {
      yield* [];
      for await (const { requestType } of requests)
        if (requestType.case === 'metadata') ids.push(requestType.value.taskId);
      if (!signal.aborted) await once(signal, 'abort');
      onEnd();
    },
  });
}

/** A good node that learns the ids of its attempts; it works once `when` allows it. */
function named(ids: string[], when: () => Promise<unknown> = async () => undefined): Misdeed {
  return () => ({
    async *register(requests) {
      for await (const { requestType } of requests)
        if (requestType.case === 'metadata') ids.push(requestType.value.taskId);
      await when();
      yield finalized;
    },
  });
}

describe('an upload whose node is slow', () => {
  it(
    'is given to the next node beside it, which ends it while the slow one still holds the first attempt',
    { tags: ['S3.nodes.hedge', 'S3.nodes.attempt-id'] },
    async () => {
      const cut = Promise.withResolvers<void>();
      const ids: string[] = [];
      const { history, said, onChain } = await uploaded([silent(cut.resolve, ids), named(ids)]);
      expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, message: beside }]);
      expect(attempts(history).map((data) => data['previous_error'])).toEqual([undefined, undefined]);
      expect(history.at(-1)?.status).toBe('sdk:completed');
      expect([count(history, 'sdk:txhash_received'), onChain]).toEqual([1, ['7']]);
      // Only the end of the other attempt has ended the call of the first.
      await cut.promise;
      expect(new Set(ids).size).toBe(2);
      expect(said).toEqual(['lumera1node1 succeeded', 'lumera1node0 overtaken']);
    },
  );

  it('keeps both, and the slow one may be first: the other is blamed for nothing', async () => {
    const [isBeside, cut] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const other: Misdeed = (cutAll) => ({
      async *register(requests, context) {
        await taken(requests);
        isBeside.resolve();
        yield { eventType: SupernodeEventType.ACTION_RETRIEVED, message: '', txHash: '' };
        const { register } = silent(cut.resolve)(cutAll) as Pick<Node, 'register'>;
        yield* register(requests, context);
      },
    });
    const { history, said, onChain } = await uploaded([named([], async () => await isBeside.promise), other]);
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, message: beside }]);
    expect([history.at(-1)?.status, onChain]).toEqual(['sdk:completed', ['7']]);
    await cut.promise;
    expect(said).toEqual(['lumera1node0 succeeded']);
  });

  it('is given to a third node where the second refuses, never to three at once', async () => {
    const held = { now: 0, most: 0 };
    const holding =
      (inner: Misdeed): Misdeed =>
      (cut) => ({
        async *register(requests, context) {
          held.most = Math.max(held.most, (held.now += 1));
          try {
            yield* inner(cut).register?.(requests, context) ?? good.register(requests, context);
          } finally {
            held.now -= 1;
          }
        },
      });
    const { history } = await uploaded([silent(() => undefined), refusing, () => ({})].map(holding));
    expect(attempts(history)).toMatchObject([
      { iteration: 1 },
      { iteration: 2, message: beside },
      { iteration: 3, message: beside, previous_error: '[internal] not today' },
    ]);
    expect([history.at(-1)?.status, held.most]).toEqual(['sdk:completed', 2]);
  });

  it('is given to a third node beside two that take none of it', async () => {
    const deaf: Misdeed = () => ({
      async *register(_, { signal }) {
        yield* [];
        if (!signal.aborted) await once(signal, 'abort');
      },
    });
    const { history } = await uploaded([deaf, deaf, () => ({})], { ...quickPace(), atOnce: 3 });
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { message: beside }, { message: beside }]);
    expect(history.at(-1)?.status).toBe('sdk:completed');
  });

  it('waits where a gateway has all the attempts beside others that it may have', async () => {
    const hedges = quickPace();
    while (hedges.reserve());
    const wait = Promise.withResolvers<void>();
    // It works again once the gateway has refused another attempt beside it.
    const slow: Misdeed = () => ({
      async *register(requests) {
        await taken(requests);
        yield { eventType: SupernodeEventType.ACTION_RETRIEVED, message: '', txHash: '' };
        await wait.promise;
        yield finalized;
      },
    });
    const reserve = (): (() => void) | undefined => {
      wait.resolve();
      return hedges.reserve();
    };
    const { history } = await uploaded([slow, () => ({})], { ...hedges, reserve });
    expect(attempts(history)).toHaveLength(1);
    expect(history.at(-1)?.status).toBe('sdk:completed');
  });
});

/** Gives half the file, or nothing, and the rest once `when` allows it; tells when its call is ended before. */
function pausing(when: Promise<unknown>, first = 0, onEnd: () => void = () => undefined): Misdeed {
  return () => ({
    async *download(_, { signal }) {
      yield* chunksOf(bytes.subarray(0, first));
      signal.addEventListener('abort', onEnd);
      await Promise.race([when, once(signal, 'abort')]);
      yield* chunksOf(bytes.subarray(first));
    },
  });
}

const never = new Promise<never>(() => undefined);

describe('a download whose node is slow', () => {
  it(
    'comes from the next node beside it, which ends it, on a gateway that knows no pace yet',
    { tags: ['S3.nodes.hedge-downloads'] },
    async () => {
      const cut = Promise.withResolvers<void>();
      const { history, said, isWhole, left, task } = await fetched([pausing(never, 0, cut.resolve), () => ({})]);
      expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, message: beside }]);
      expect(history.slice(-3).map(({ status, data }) => [status, data['iteration']])).toEqual([
        ['sdk:download_started', 2],
        ['sdk:download_completed', 2],
        ['sdk:completed', undefined],
      ]);
      await cut.promise;
      expect([isWhole, left]).toEqual([true, [task]]);
      expect(said).toEqual(['lumera1node1 succeeded', 'lumera1node0 overtaken']);
    },
  );

  it('keeps both, and the slow one may be first: its bytes are its own, the other is blamed for nothing', async () => {
    const isBeside = Promise.withResolvers<void>();
    const other: Misdeed = (cut) => ({
      async *download(request, context) {
        yield* chunksOf(bytes.subarray(1), 100_000);
        isBeside.resolve();
        yield* pausing(never)(cut).download?.(request, context) ?? [];
      },
    });
    const slow = pausing(isBeside.promise, bytes.length / 2);
    const { history, said, isWhole } = await fetched([slow, other], { hedges: quickPace() });
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, message: beside }]);
    expect([history.at(-1)?.status, isWhole, said]).toEqual(['sdk:completed', true, ['lumera1node0 succeeded']]);
  });

  it('goes on alone where the disk has no room for two', async () => {
    const isRefused = Promise.withResolvers<void>();
    const reserve = () => () => isRefused.resolve();
    // Three quarters of it are for downloads: one file has room, with a rounding.
    const changes = { hedges: { ...quickPace(), reserve }, transferSpace: bytes.length * 1.5 };
    const slow = pausing(isRefused.promise, bytes.length / 2);
    const { history, said, isWhole } = await fetched([slow, () => ({})], changes);
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, message: beside }]);
    expect([history.at(-1)?.status, isWhole, said]).toEqual(['sdk:completed', true, ['lumera1node0 succeeded']]);
  });
});
