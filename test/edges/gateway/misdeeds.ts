import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import { chunksOf, finalized, goodNode, type Misdeed, type Served, taken } from './nodes-under-test.ts';

/** The file that is moved. */
export const bytes = randomBytes(400_000);
/** A node that does nothing wrong. */
export const good = goodNode(bytes);
/** Longer than any test. */
export const foreverMs = 60_000;

const dying =
  (quarter: number): Misdeed =>
  (cut) => ({
    async *download() {
      yield* chunksOf(bytes, (bytes.length * quarter) / 4);
      cut();
      await pause(foreverMs, undefined, { ref: false });
    },
    async *register(requests) {
      await taken(requests, (bytes.length * quarter) / 4);
      cut();
      yield finalized;
    },
  });

/** Says no, each way in words of its own. */
export const refusing: Misdeed = () => ({
  async *download() {
    yield* [];
    throw new ConnectError('not today', Code.FailedPrecondition);
  },
  async *register() {
    yield* [];
    throw new ConnectError('not today', Code.Internal);
  },
});

/** It takes a file and says nothing, so that the file stays with the gateway. */
export const waiting: Misdeed = () => ({
  async *register(_requests, { signal }) {
    yield* [];
    if (!signal.aborted) await once(signal, 'abort');
  },
});

/** Is still halfway through a download, and once it has the whole of an upload. */
export const stalling: Misdeed = () => ({
  async *download() {
    yield* chunksOf(bytes, bytes.length / 2);
    await pause(foreverMs, undefined, { ref: false });
  },
  async *register(requests) {
    await taken(requests);
    await pause(foreverMs, undefined, { ref: false });
    yield finalized;
  },
});

/** Only to who fetches: what an upload comes to is the chain's to say. */
const giving =
  (other: Uint8Array): Misdeed =>
  () => ({
    async *download() {
      yield* chunksOf(other);
    },
    async *register(requests) {
      await taken(requests);
      yield { eventType: SupernodeEventType.ACTION_RETRIEVED, message: '', txHash: '' };
    },
  });

const odd = { eventType: 99 as SupernodeEventType, message: `a\u0000b\n${'c'.repeat(400)}` };
/** Tells what nobody knows before it does, in either direction, what it does otherwise. */
export const oddly =
  (then: Misdeed): Misdeed =>
  (cut) => ({
    async *download(request, context) {
      yield { responseType: { case: 'event' as const, value: odd } };
      yield* then(cut).download?.(request, context) ?? chunksOf(bytes);
    },
    async *register(requests, context) {
      yield { ...odd, txHash: '' };
      yield* then(cut).register?.(requests, context) ?? good.register(requests, context);
    },
  });

const broken = 'the connection broke off';
const wrong = 'the node gave bytes that do not hash to what the chain says';
const unfinished = 'the node ended the registration without having finalized the action';
/** How an attempt is told in which a node did nothing any more. */
export const still = 'nothing moved for too long';
/** What a node does, and how it is told of a download and of an upload for which there is no other. */
export const misdeeds: readonly (readonly [what: string, Served, ofDownload: string, ofUpload: string])[] = [
  ['dies before the first quarter', dying(0), broken, broken],
  ['dies after a quarter', dying(1), broken, broken],
  ['dies at half', dying(2), broken, broken],
  ['dies after three quarters', dying(3), broken, broken],
  ['refuses', refusing, '[failed_precondition] not today', '[internal] not today'],
  ['stalls', stalling, still, still],
  ['tells what nobody knows, and dies', oddly(dying(2)), broken, broken],
  ['tells what nobody knows, and refuses', oddly(refusing), '[failed_precondition] not today', '[internal] not today'],
  ['gives other bytes, or ends without finalizing', giving(randomBytes(bytes.length)), wrong, unfinished],
  ['gives too few bytes', giving(bytes.subarray(1)), wrong, unfinished],
  ['gives too many bytes', giving(Buffer.concat([bytes, bytes.subarray(0, 1)])), wrong, unfinished],
  ['gives one byte changed', giving(Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])), wrong, unfinished],
  ['speaks no HTTP/2', 'garbage', 'lumera1node0: ', 'lumera1node0: '],
];
