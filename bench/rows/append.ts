import { open } from 'node:fs/promises';
import path from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Fact, subjectOf } from '../../src/events/catalogue.ts';
import { streamName } from '../../src/engine/log/streams.ts';
import type { Context } from '../context.ts';
import { connectTo, freshLog, freshNetwork, probeOf } from '../log.ts';
import { type Contender, perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';
import { openEmmett } from '../systems.ts';
import { writeAll } from '../writers.ts';

const entityCount = 512;

/** Appending one event at a time, 32 under way, each with the version it expects and an id that is taken once. */
export function rows(context: Context): readonly Row[] {
  const peerName = 'emmett-postgresql 0.42.0, appendToStream';
  return [
    {
      ...shape,
      name: 'append',
      peerName,
      target: { ratio: 8 },
      measure: async () => context.inTurn('higher', await ours(context, 'relaxed'), () => emmett(context)),
    },
    {
      ...shape,
      name: 'append-fsync',
      peerName,
      target: { ratio: 2 },
      measure: async () => {
        const disk = await syncsOf(context);
        const figures = await context.inTurn('higher', await ours(context, 'strict'), () => emmett(context));
        return { ...figures, note: [figures.note, disk].filter((part) => part !== undefined).join('; ') };
      },
    },
    {
      ...shape,
      name: 'append-client',
      peerName: "publish of the broker's own client",
      target: { ratio: 1.5 },
      measure: async () => context.inTurn('higher', await ours(context, 'relaxed'), () => publish(context)),
    },
  ];
}

const shape = { unit: 'events/s', better: 'higher' } as const;

const syncedMs = 2_000;
const syncedBytes = 512;

/** How many small writes a second the disk makes durable, one after the other, in the words of a note. */
async function syncsOf(context: Context): Promise<string> {
  const file = await open(path.join(await context.folder('disk'), 'synced'), 'w');
  const bytes = new Uint8Array(syncedBytes).fill(1);
  const began = performance.now();
  let count = 0;
  for (; performance.now() - began < context.size(syncedMs, 100); count += 1) {
    await file.write(bytes);
    await file.datasync();
  }
  await file.close();
  return `the disk syncs ${Math.round(count / ((performance.now() - began) / 1000))} writes/s in turn`;
}

type Grade = Parameters<Context['nats']>[0];

async function ours(context: Context, grade: Grade): Promise<Contender> {
  const nc = await connectTo(context, grade);
  return inRounds(context, async ({ entities, events }) => {
    const { log } = await freshLog(nc);
    return () =>
      writeAll({ entities, events, first: 0 }, async (entity, event, expected) => {
        const decision = { kind: 'probe', entity, facts: [probeOf(entity, event)], expected } as const;
        return (await log.append([decision], { at: new Date().toISOString() })).sequence;
      });
  });
}

/** As the client comes, with the same message id and expectation. */
async function publish(context: Context): Promise<Contender> {
  const { url, user, pass } = await context.nats('relaxed');
  const nc = await connect({ servers: new URL(url).host, user, pass });
  context.defer(() => nc.close());
  const js = jetstream(nc);
  return inRounds(context, async ({ entities, events }) => {
    const { network } = await freshLog(nc);
    const name = streamName('PROBES', network);
    return () =>
      writeAll({ entities, events, first: 0 }, async (entity, event, lastSubjectSequence) => {
        const bytes = JSON.stringify(eventOf(probeOf(entity, event)));
        const subject = subjectOf('probe', network, entity);
        const expect = { streamName: name, lastSubjectSequence };
        return (await js.publish(subject, bytes, { msgID: `${network} ${event}`, expect })).seq;
      });
  });
}

async function emmett(context: Context): Promise<Contender> {
  const peer = await openEmmett(context);
  return inRounds(context, async ({ entities, events: many }) => {
    // A tenth takes it as long.
    const events = Math.ceil(many / 10);
    const network = freshNetwork();
    const streams = entities.map((entity) => `${network} ${entity}`);
    const facts = streams.map((stream) => eventOf(probeOf(stream, 0)));
    return { figure: () => peer.ask('append', { streams, facts, events }) };
  });
}

type Round = Readonly<{ entities: readonly string[]; events: number }>;
type Work = (() => Promise<unknown>) | Readonly<{ figure: () => Promise<number> }>;

/** Every round writes to streams of its own; making them does not count. */
function inRounds(context: Context, prepare: (round: Round) => Promise<Work>): Contender {
  const events = context.size(30_000, 2_000);
  const entities = Array.from({ length: entityCount }, (_, n) => `node${n}`);
  return async () => {
    const work = await prepare({ entities, events });
    return 'figure' in work ? work.figure() : perSecond(events, work);
  };
}

/** What lies in a store: the same text of an event for everyone. */
const eventOf = ({ type, data }: Fact) => ({ type, data });
