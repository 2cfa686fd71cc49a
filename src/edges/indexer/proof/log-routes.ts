import { Type } from 'typebox';
import { signersOf } from '../../../engine/archive/proof/notes.ts';
import { type ProvenLogs, publicLogs } from '../../../engine/archive/proof/serving.ts';
import { parseTilePath } from '../../../engine/archive/proof/tiles.ts';
import { AppError } from '../../../kit/errors.ts';
import { type App, errors } from '../../http/schema.ts';
import { bundleIndex, openBundle } from './event-bundles.ts';
import { eventRoutes } from './event-routes.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import type { EventSource } from './event-tail.ts';
import {
  beyond,
  eventBytes,
  eventParams,
  immutable,
  logListAnswer,
  publicLog,
  rawAnswer,
  sequenceOf,
  streamParam,
} from './log-schemas.ts';
import { previousEventRoute } from './previous-event.ts';

const tags = ['Logs'];
const changing = 'no-cache';
const params = Type.Object({ stream: streamParam });
const textType = 'text/plain; charset=utf-8';

type LogDependencies = Pick<RouteDependencies, 'logs' | 'past' | 'eventSource' | 'signal' | 'version' | 'settings'>;

/** The logs as anybody may check them: C2SP tlog-tiles below `/log/<stream>`, and `/v1/logs`. */
export function logRoutes(app: App, dependencies: LogDependencies): void {
  const { logs, past, eventSource } = dependencies;
  addList(app, logs);
  addTexts(app, logs);
  addTiles(app, logs, eventSource);
  eventRoutes(app, dependencies);
  addEvents(app, logs);
  previousEventRoute(app, { logs, past });
  addProofs(app, logs);
}

function addList(app: App, logs: ProvenLogs): void {
  const schema = {
    tags,
    operationId: 'listLogs',
    summary: 'Logs that anybody may check, with their last signed checkpoints',
    response: { 200: logListAnswer, ...errors(400) },
  };
  app.get('/v1/logs', { schema }, async (_request, reply) => {
    const all = (await logs.list()).filter(({ stream }) => publicLogs.includes(stream));
    void reply.header('cache-control', changing);
    return {
      logs: all.map(({ stream, origin, vkey, size, root, note, signedAt, incarnation, firstKept }) => ({
        stream,
        url: `/log/${stream}`,
        origin,
        vkey,
        size,
        root: Buffer.from(root).toString('base64'),
        signed_at: signedAt,
        witnesses: signersOf(note).filter((name) => name !== origin),
        incarnation,
        first_kept: firstKept,
      })),
    };
  });
}

function addTexts(app: App, logs: ProvenLogs): void {
  const texts = {
    checkpoint: [
      'The signed checkpoint of a log',
      'Size and root of its tree, as C2SP tlog-checkpoint has it.',
      'note',
    ],
    vkey: ['The public key of a log', 'As verifiers take it: name+id+base64.', 'vkey'],
  } as const;
  for (const [name, [summary, description, field]] of Object.entries(texts)) {
    const schema = {
      tags,
      operationId: `log_${name}`,
      summary,
      description,
      params,
      response: { 200: rawAnswer('The text.', 'text/plain', changing), ...errors(404) },
    };
    app.get(`/log/:stream/${name}`, { schema }, async ({ params: { stream } }, reply) => {
      const checkpoint = await logs.checkpoint(publicLog(stream));
      if (!checkpoint) throw new AppError('NOT_FOUND', 'No checkpoint of this log was signed yet.');
      await reply.headers({ 'content-type': textType, 'cache-control': changing }).send(checkpoint[field]);
    });
  }
}

function addTiles(app: App, logs: ProvenLogs, { after }: Pick<EventSource, 'after'>): void {
  const schema = {
    tags,
    operationId: 'log_tile',
    summary: 'A tile of a log’s Merkle tree, a bundle of its entries, or a bundle of its events',
    description: [
      '`tile/<level>/<index>[.p/<width>]` has up to 256 hashes, `tile/entries/<index>[.p/<width>]` the SHA-256 of as many events, each behind its length (C2SP tlog-tiles).',
      '`tile/events/<index>` has those 256 events themselves, one a line, of logs that keep everything.',
    ].join(' '),
    params: Type.Object({
      stream: streamParam,
      '*': Type.String({
        description: 'Level and index, such as `0/x001/234`, `entries/000.p/17` or `events/000`.',
      }),
    }),
    response: {
      200: rawAnswer('Hashes, 32 bytes each, or lines.', 'application/octet-stream', immutable),
      ...errors(404, 410),
    },
  };
  app.get('/log/:stream/tile/*', { schema }, async ({ params: { stream, '*': path }, headers }, reply) => {
    const name = publicLog(stream);
    const index = bundleIndex(path);
    if (index !== undefined) {
      const gzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
      const lines = await openBundle({ logs, after }, name, { index, gzip });
      void reply.headers({
        'content-type': 'application/x-ndjson',
        'cache-control': immutable,
        vary: 'accept-encoding',
      });
      return await (gzip ? reply.header('content-encoding', 'gzip') : reply).send(lines);
    }
    const tile = parseTilePath(`tile/${path}`);
    const bytes = tile && (await logs.tile(name, tile));
    if (!bytes) throw new AppError('NOT_FOUND', 'The tree of this log has no such tile.');
    return await reply
      .headers({ 'content-type': 'application/octet-stream', 'cache-control': immutable })
      .send(Buffer.from(bytes));
  });
}

function addEvents(app: App, logs: ProvenLogs): void {
  const schema = {
    tags,
    operationId: 'log_event',
    summary: 'An event, byte for byte as it was stored',
    description:
      'Its SHA-256 is the entry of the log’s tree. 410 where the bytes are not kept any more: it stays provable.',
    params: eventParams,
    response: { 200: rawAnswer('A CloudEvent.', 'application/cloudevents+json', immutable), ...errors(404, 410) },
  };
  app.get('/log/:stream/events/:sequence', { schema }, async ({ params: { stream, sequence } }, reply) => {
    const name = publicLog(stream);
    const event = await eventBytes(logs, name, sequenceOf(sequence));
    await reply
      .headers({
        'content-type': 'application/cloudevents+json',
        'cache-control': immutable,
        'repr-digest': `sha-256=:${Buffer.from(event.entry).toString('base64')}:`,
      })
      .send(Buffer.from(event.bytes));
  });
}

function addProofs(app: App, logs: ProvenLogs): void {
  const schema = {
    tags,
    operationId: 'log_proof',
    summary: 'A proof that a log has an event',
    description: 'A text of C2SP tlog-proof, with the checkpoint that was signed last; `annals verify` checks it.',
    params: eventParams,
    response: { 200: rawAnswer('The proof.', 'text/plain', changing), ...errors(404) },
  };
  app.get('/log/:stream/proofs/:sequence', { schema }, async ({ params: { stream, sequence } }, reply) => {
    const proof = await logs.proof(publicLog(stream), sequenceOf(sequence));
    if (proof === undefined) throw beyond();
    await reply.headers({ 'content-type': textType, 'cache-control': changing }).send(proof);
  });
}
