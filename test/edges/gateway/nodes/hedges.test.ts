import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { signText } from '../../../../src/edges/chain/files/signatures.ts';
import { createFailures, type Failures } from '../../../../src/edges/gateway/nodes/failures.ts';
import { createHedges, type Hedges } from '../../../../src/edges/gateway/nodes/hedges.ts';
import { SupernodeEventType } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { actionOver, creatorKey, finalize, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { bytes, good, refusing } from '../misdeeds.ts';
import { finalized, historyOf, type Misdeed, type Node, serveNodes, taken, type Told } from '../nodes-under-test.ts';

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

async function uploaded(nodes: readonly Misdeed[], hedges = quickPace()) {
  const { said, failures } = observedFailures();
  const onChain: string[] = [];
  const storers = await serveNodes(good, nodes, (id) => {
    onChain.push(id);
    finalize(gateway, id);
  });
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway: GatewayUnderTest = await gatewayUnderTest({ chain, hedges, failures, stallMs: patientMs });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  const action = await actionOver(bytes);
  gateway.actions.set('7', action);
  const form = new FormData();
  form.append('action_id', '7');
  form.append('signature', signText(creatorKey, action.file?.dataHash ?? ''));
  form.append('file', new Blob([bytes]), 'file.bin');
  const answer = await fetch(`${gateway.url}/api/v1/actions/cascade`, { method: 'POST', body: form });
  const { task_id: task } = (await answer.json()) as { task_id: string };
  return { history: await historyOf(gateway.url, 'uploads', task), said, onChain };
}

const attempts = (history: readonly Told[]) =>
  history.filter(({ status }) => status === 'sdk:registration_attempt').map(({ data }) => data);
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

describe('createHedges', () => {
  const recorded = (some: readonly Readonly<{ silenceMs: number; tookMs: number; bytes?: number }>[]): Hedges => {
    const hedges = createHedges();
    for (const { silenceMs, tookMs, bytes: size = 1_000 } of some)
      hedges.record({ bytes: size, tookMs, silences: new Map([['processing', silenceMs]]) });
    return hedges;
  };

  it('calls nothing slow before it knows three attempts', () => {
    const two = recorded([1, 2].map((silenceMs) => ({ silenceMs, tookMs: 1 })));
    expect(two.patienceMs('processing', 1_000)).toBeUndefined();
  });

  it('calls twice the p90 of silences slow, at least a quarter of what an attempt takes, and more for larger files', () => {
    const hedges = recorded(Array.from({ length: 10 }, (_, index) => ({ silenceMs: (index + 1) * 10, tookMs: 200 })));
    expect(hedges.patienceMs('processing', 1_000)).toBe(180);
    expect(hedges.patienceMs('processing', 500)).toBe(180);
    expect(hedges.patienceMs('processing', 10_000)).toBe(1_800);
    expect(hedges.patienceMs('dialling', 1_000)).toBe(50);
    expect(hedges.patienceMs('dialling', 4_000)).toBe(200);
  });

  it('follows the latest fifty, so that a slow network is soon the usual one', () => {
    const hedges = recorded([
      ...Array.from({ length: 50 }, () => ({ silenceMs: 10, tookMs: 10 })),
      ...Array.from({ length: 50 }, () => ({ silenceMs: 500, tookMs: 600 })),
    ]);
    expect(hedges.patienceMs('processing', 1_000)).toBe(1_000);
  });

  it('has eight at once at most, and each once given back', () => {
    const hedges = createHedges();
    const frees = Array.from({ length: 8 }, () => hedges.reserve());
    expect(hedges.reserve()).toBeUndefined();
    frees[0]?.();
    frees[0]?.();
    expect(hedges.reserve()).toBeDefined();
    expect(hedges.reserve()).toBeUndefined();
  });
});
