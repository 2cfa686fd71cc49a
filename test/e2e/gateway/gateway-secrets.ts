import { readFileSync } from 'node:fs';
import path from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import pg from 'pg';
import { expect } from 'vitest';
import { streams } from '../../../src/events/streams.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { messagesOf } from '../../../src/engine/log/direct.ts';
import { until } from '../../support/polling.ts';
import type { Program } from '../../support/programs/program.ts';
import { downloadSignature, type Json, postJson, registered, streamed, upload } from './gateway-client.ts';

/** Texts in which a secret could stand, by where they were found. */
type Places = Readonly<Record<string, string>>;

/**
 * Moves a private file and asks for a round of sync, then looks for secrets wherever others can read: the signature and
 * the task id of the download, the keys of the gateway and of a node, the token, and what was refused in their place.
 * A text that is no secret is found in each place, so the looking works.
 */
export async function expectSecretsUntold(
  program: Program,
  gateway: string,
  { token, traces }: Readonly<{ token: string; traces: () => string }>,
): Promise<void> {
  const nc = await connectNats({ ...program.instance.nats, name: 'secrets test' });
  const live: string[] = [];
  const listening = nc.subscribe('live.>', {
    callback: (_error, { subject, data }) => void live.push(subject + told(data)),
  });
  const file = await registered(gateway, 'of a private person.bin', { isPublic: false });
  const { task_id: uploaded } = (await (await upload(`${gateway}/api/v1/actions/cascade`, file)).json()) as Json;
  await streamed(`${gateway}/api/v1/actions/cascade/tasks/${String(uploaded)}/status`);
  const signature = await downloadSignature(gateway, file.action);
  const { task_id: task } = await postJson(`${gateway}/api/v1/actions/cascade/${file.action}/downloads`, { signature });
  const download = `${gateway}/api/v1/downloads/cascade/${String(task)}`;
  expect((await streamed(`${download}/status`)).at(-1)?.name).toBe('sdk:completed');
  expect((await fetch(`${download}/file`)).status).toBe(200);
  const wrong = { signature: `${signature.slice(0, -6)}AAAA==` };
  const refused = await postJson(`${gateway}/api/v1/actions/cascade/${file.action}/downloads`, wrong);
  expect(refused).toMatchObject({ httpStatus: 401 });
  const synced = await synchronized(program.base, token);
  const wrongToken = `${token.slice(0, -1)}?`;
  const unsynced = await synchronized(program.base, wrongToken);
  expect([synced.status, unsynced.status]).toEqual([202, 401]);

  let tables = '';
  await until('the archive has the upload', async () => isIn((tables = await tablesOf(program)), file.signature));
  const places: Places = {
    events: await eventsOf(nc),
    tables,
    'live subjects': live.join('\n'),
    log: JSON.stringify(program.log),
    traces: traces(),
    metrics: await textOf(`${gateway}/metrics`, `${program.base}/metrics`),
    answers: [
      await textOf(...addressesOf(program, { action: file.action, uploaded: String(uploaded) })),
      await facesOf(program, { action: file.action, events: await eventsOf(nc) }),
      JSON.stringify([refused, synced, unsynced]),
    ].join('\n'),
  };
  listening.unsubscribe();
  await nc.close();
  const secrets = {
    'signature of the download': signature,
    'signature that was refused': wrong.signature,
    'task of the private download': String(task),
    'key of the gateway': keyIn(program, 'keys/gateway'),
    'key of a node': keyIn(program, 'nodes/1/key'),
    token,
    'token that was refused': wrongToken,
  };
  const found = Object.entries(places).flatMap(([place, text]) =>
    Object.entries(secrets).flatMap(([name, secret]) => (isIn(text, secret) ? [`${name} in ${place}`] : [])),
  );
  expect(found).toEqual([]);
  for (const place of ['events', 'tables', 'live subjects', 'answers'])
    expect(isIn(places[place] ?? '', String(uploaded)), `the upload's task in ${place}`).toBe(true);
  // Its event has it, and so has the archive of the event.
  expect(isIn(places['events'] ?? '', file.signature), "the upload's signature in events").toBe(true);
  expect(isIn(places['log'] ?? '', 'sync round done'), 'details in the log').toBe(true);
  expect(isIn(places['metrics'] ?? '', 'annals_transfers_ended_total'), 'transfers in the metrics').toBe(true);
  expect(isIn(places['traces'] ?? '', '/api/v1/actions/cascade/:action_id/downloads'), 'routes in the traces').toBe(
    true,
  );
  for (const place of ['live subjects', 'log', 'metrics', 'traces', 'answers'])
    expect(isIn(places[place] ?? '', file.signature), `the upload's signature in ${place}`).toBe(false);
}

function keyIn({ folder }: Program, file: string): string {
  return readFileSync(path.join(folder, file), 'utf8').trim();
}

/** In any form that it could have been written in: as it is, and the bytes that it stands for. */
function isIn(text: string, secret: string): boolean {
  const stoodFor = /^(?:[\da-f]{2})+$/i.test(secret) ? Buffer.from(secret, 'hex') : Buffer.from(secret, 'base64');
  const forms = [Buffer.from(secret), stoodFor].flatMap((bytes) => [
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    JSON.stringify([...bytes]).slice(1, -1),
  ]);
  return [secret, encodeURIComponent(secret), ...forms].some((form) => text.includes(form));
}

/** What asking for a round of sync with a token comes to. */
async function synchronized(base: string, bearer: string) {
  const headers = { authorization: `Bearer ${bearer}` };
  const answer = await fetch(`${base}/v1/supernodes/sync`, { method: 'POST', headers });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
}

function told(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

async function eventsOf(nc: NatsConnection): Promise<string> {
  const texts: string[] = [];
  const manager = await jetstreamManager(nc);
  for await (const { config } of manager.streams.list())
    for (let from = 1, left = 1; left > 0;) {
      const page = await messagesOf(nc, config.name, { subject: '>', from, most: 5000 });
      texts.push(...page.messages.map(({ subject, bytes }) => subject + told(bytes)));
      ({ left } = page);
      from = (page.messages.at(-1)?.sequence ?? from) + 1;
      if (page.messages.length === 0) break;
    }
  return texts.join('\n');
}

async function tablesOf({ instance: { postgres } }: Program): Promise<string> {
  const client = new pg.Client(postgres);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_schema like 'annals%' and table_type = 'BASE TABLE'`,
    );
    const texts: string[] = [];
    for (const { name } of rows)
      texts.push(
        ...(await client.query<{ row: string }>(`select t::text as row from ${name} t`)).rows.map(({ row }) => row),
      );
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

function addressesOf(
  { base, instance: { urls } }: Program,
  { action, uploaded }: Readonly<{ action: string; uploaded: string }>,
): string[] {
  const gateway = urls['gateway'] ?? '';
  const actions = `${gateway}/api/v1/actions/cascade`;
  return [
    ...['/openapi.json', '/readyz', '/healthz', '/transfers/about.json'].map((one) => `${gateway}${one}`),
    `${actions}/tasks`,
    `${actions}/${action}/tasks`,
    `${actions}/tasks/${uploaded}/history`,
    ...['', `?action_id=${action}`].map((query) => `${gateway}/api/v1/downloads/cascade/tasks${query}`),
    ...['/v1/actions?limit=100', '/readyz', '/about.json', `/v1/actions/${action}`].map((one) => `${base}${one}`),
  ];
}

/** Every route that the API of the indexer documents, and the events, bundles and proofs that it serves. */
async function facesOf(
  { base }: Program,
  { action, events }: Readonly<{ action: string; events: string }>,
): Promise<string> {
  const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as Readonly<{ paths: object }>;
  const [, node = ''] = /"id":"([^"]+)"/.exec(await textOf(`${base}/v1/supernodes/metrics`)) ?? [];
  const [, hash = ''] = /"hash":"([0-9A-F]{64})"/.exec(events) ?? [];
  const ids = [...events.matchAll(/evt\.(?:request|retrieval)\.[^{]*\{[^{]*?"id":"([^"]+)"/g)].map(([, id = '']) => id);
  expect(ids.length, 'events of private transfers').toBeGreaterThan(0);
  const documented = Object.keys(paths)
    .filter((route) => route !== '/live' && !route.startsWith('/log/') && !route.startsWith('/v1/causes/'))
    .map((route) => route.replace('{id}', route.startsWith('/v1/actions') ? action : node).replace('{hash}', hash));
  const logs = streams.flatMap((stream) => {
    const some = Array.from({ length: 8 }, (_, at) => [`events/${at + 1}`, `proofs/${at + 1}`]).flat();
    const ofLog = ['checkpoint', 'vkey', 'events?limit=1000', 'tile/0/000', 'tile/entries/000', 'tile/events/000'];
    return [...ofLog, ...some].map((route) => `/log/${stream}/${route}`);
  });
  const causes = ids.slice(-20).map((id) => `/v1/causes/${encodeURIComponent(id)}`);
  const further = [
    '/metrics',
    '/asyncapi.json',
    '/',
    `/actions/${action}`,
    '/transfers',
    '/about.json',
    '/models.json',
  ];
  const all = [...documented, ...logs, ...causes, ...further];
  const served: string[] = [];
  for (let from = 0; from < all.length; from += 8)
    served.push(await textOf(...all.slice(from, from + 8).map((route) => base + route)));
  const hasEvent = (type: string) => served.some((text) => text.includes(`"type":"annals.${type}.v1"`));
  expect([hasEvent('TransferCompleted'), hasEvent('ActionRegistered')], 'private and public').toEqual([false, true]);
  return served.join('\n');
}

async function textOf(...urls: readonly string[]): Promise<string> {
  return (await Promise.all(urls.map(async (url) => await (await fetch(url)).text()))).join('\n');
}
