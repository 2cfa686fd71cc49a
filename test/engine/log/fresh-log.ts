import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { onTestFinished } from 'vitest';
import type { Cause, Decision, Recorded } from '../../../src/commands/ports.ts';
import { catalogue, entityOf, type Fact } from '../../../src/events/catalogue.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams, streamName } from '../../../src/engine/log/streams.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';

/** A connection as ourselves that is closed when the test ends. */
export async function connected(
  address: { url: string; user?: string; pass?: string } = testNats(),
): Promise<NatsConnection> {
  const { url, user, pass } = { ...testNats(), ...address };
  const nc = await connectNats({ url, user, pass, name: 'test' });
  onTestFinished(() => nc.close());
  return nc;
}

/** The log of a network that nobody else uses. */
export async function freshLog(
  options?: Parameters<typeof ensureStreams>[2],
  address?: Parameters<typeof connected>[0],
): Promise<{ nc: NatsConnection; network: string; log: Log }> {
  const nc = await connected(address);
  const network = freshNetwork();
  await ensureStreams(nc, network, options);
  return { nc, network, log: createLog(nc, network) };
}

/** Why the facts of a test are written. */
export const cause: Cause = { at: '2026-11-21T10:00:00.000Z' };

/** Appends the facts of each entity in their order. */
export async function appendFacts(log: Log, facts: readonly Fact[]): Promise<void> {
  const groups = Map.groupBy(facts, (fact) => `${catalogue[fact.type].kind} ${entityOf(fact)}`);
  for (const group of groups.values()) {
    const [fact] = group;
    if (!fact) continue;
    const [kind, entity] = [catalogue[fact.type].kind, entityOf(fact)];
    const last = (await log.last(kind, [entity])).get(entity);
    await log.append([{ kind, entity, facts: group, expected: last?.sequence ?? 0, previous: last?.id }], cause);
  }
}

/** A failed probe, told from others by how long it took. */
export function probeOf(node: string, tookMs = 0): Fact<'ProbeFailed'> {
  const known = { consecutiveFailures: 1, services: [] };
  return { type: 'ProbeFailed', data: { node, at: cause.at, ports: [], tookMs, statusAnswer: 'not_asked', known } };
}

/** A validator, told from others by its name. */
export function validatorOf(validator: string, moniker = ''): Fact<'ValidatorListed'> {
  return {
    type: 'ValidatorListed',
    data: { validator, seenAtHeight: 1, record: { moniker, status: 'bonded', jailed: false } },
  };
}

/** An action that has expired: the smallest fact of one. */
export function actionOf(action: string, seenAtHeight = 1): Fact<'ActionExpired'> {
  const known = {
    chainState: 'expired',
    reached: 'registered',
    creator: 'lumera1creator',
    dataHash: '',
    transactions: [],
  };
  return { type: 'ActionExpired', data: { action, seenAtHeight, known } };
}

/** A decision for facts of one probe, validator or action. */
export function decision(expected: number, ...facts: readonly [Fact, ...Fact[]]): Decision {
  const kind = { ProbeFailed: 'probe', ValidatorListed: 'validator', ActionExpired: 'action' } as const;
  const [first] = facts;
  return { kind: kind[first.type as keyof typeof kind], entity: entityOf(first), facts, expected };
}

/** Damages a stream: keeps only the last message of every subject. */
export async function thinOut(nc: NatsConnection, network: string, stream: StreamName): Promise<void> {
  const manager = await jetstreamManager(nc);
  await manager.streams.update(streamName(stream, network), { max_msgs_per_subject: 1 });
}

/** Reads a stream from its beginning until nothing is left. */
export async function everything(log: Log, stream: Parameters<Log['follow']>[0], after = 0): Promise<Recorded[]> {
  const all: Recorded[] = [];
  const { lastSequence } = await log.head(stream);
  const reading = new AbortController();
  if (lastSequence > after) {
    for await (const { facts, behind } of log.follow(stream, after, { signal: reading.signal })) {
      all.push(...facts);
      if (behind === 0) reading.abort();
    }
  }
  return all;
}
