import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClientLimits, createChainClient } from '../../../../src/edges/chain/rest/client.ts';
import { syncing, type Syncing } from '../../../support/chains/chain-stub-rounds.ts';

const limits: ClientLimits = { timeLimitMs: 200, startMs: 60_000, averageMs: 1_000, repeatMs: 1 };
const json = { 'content-type': 'application/json' };
const megabyte = 1024 * 1024;
const bomb = gzipSync(Buffer.alloc(50 * megabyte));

/** Sends a first part and then another one as often as it is taken, and counts the bytes. */
function pour(response: ServerResponse, first: string, again: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(again)) sent += again.length;
    sent += again.length;
  };
  response.on('drain', more).on('close', () => response.off('drain', more));
  response.writeHead(200, json).write(first);
  more();
}
let sent = 0;

/** What a chain, or whatever answers in its place, can do to one answer; how often it is asked then. */
const answers: Readonly<Record<string, { answer: (response: ServerResponse) => void; tries: number; reason: string }>> =
  {
    'never answers': { answer: () => undefined, tries: 4, reason: 'unreachable' },
    'resets the connection': {
      answer: (response) => response.socket?.resetAndDestroy(),
      tries: 4,
      reason: 'unreachable',
    },
    'ends the connection without a word': {
      answer: (response) => response.socket?.end(),
      tries: 4,
      reason: 'unreachable',
    },
    'drips a byte now and then': {
      answer: (response) => {
        response.writeHead(200, json);
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
      tries: 4,
      reason: 'unreachable',
    },
    'breaks off in the body': {
      answer: (response) => {
        response.writeHead(200, { ...json, 'content-length': '1000' }).write('{"tx_responses":[');
        setImmediate(() => response.destroy());
      },
      tries: 4,
      reason: 'unreachable',
    },
    'truncates the JSON': {
      answer: (response) => response.writeHead(200, json).end('{"actions":[{"actionID":"1"'),
      tries: 4,
      reason: 'bad_answer',
    },
    'sends a page of HTML': {
      answer: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome!</html>'),
      tries: 1,
      reason: 'bad_answer',
    },
    'sends HTML and calls it JSON': {
      answer: (response) => response.writeHead(200, json).end('<html>Welcome!</html>'),
      tries: 4,
      reason: 'bad_answer',
    },
    'sends what it was not asked for: gzip': {
      answer: (response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb),
      tries: 1,
      reason: 'bad_answer',
    },
    redirects: {
      answer: (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
      tries: 1,
      reason: 'bad_answer',
    },
    'is too busy': {
      answer: (response) => response.writeHead(429, { 'retry-after': '0' }).end(),
      tries: 4,
      reason: 'unreachable',
    },
    'is too busy for an hour': {
      answer: (response) => response.writeHead(429, { 'retry-after': '3600' }).end(),
      tries: 1,
      reason: 'unreachable',
    },
    'is too busy until a date': {
      answer: (response) => response.writeHead(503, { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }).end(),
      tries: 1,
      reason: 'unreachable',
    },
    'sends null': { answer: (response) => response.writeHead(200, json).end('null'), tries: 1, reason: 'bad_answer' },
    'sends a list': { answer: (response) => response.writeHead(200, json).end('[]'), tries: 1, reason: 'bad_answer' },
  };

async function withClient(
  own: Syncing,
  changes: Partial<ClientLimits> = {},
): Promise<{ client: ReturnType<typeof createChainClient> }> {
  const client = createChainClient(own.url, own.profile, { ...limits, ...changes });
  onTestFinished(() => client.close());
  return { client };
}

/**
 * A chain of which one action and one node are known and others are not; from now on it answers badly where it is told
 * to.
 */
async function knownChain(): Promise<Syncing> {
  const own = await syncing();
  own.chain.register({});
  own.chain.addSuperNode('one');
  await own.round('actions');
  await own.round('supernodes');
  own.chain.block();
  own.chain.register({}, {});
  own.chain.addSuperNode('two');
  for (const stream of ['ACTIONS', 'NODES', 'SYNC'] as const) await own.news(stream);
  own.requests.length = 0;
  return own;
}

describe('a round on a chain that', () => {
  it.each(Object.entries(answers))(
    '%s fails, is bounded, records nothing wrong, and is made good',
    { tags: ['LS-02'] },
    async (_what, bad) => {
      const own = await knownChain();
      const { client } = await withClient(own);
      own.faults.raw = (url, response) => {
        const isHead = url.pathname.endsWith('blocks/latest');
        if (!isHead) bad.answer(response);
        return !isHead;
      };
      expect(await own.round('supernodes', { client })).toMatchObject({ failure: bad.reason });
      expect(await own.round('actions', { client })).toMatchObject({ failure: bad.reason });
      // The three searches are asked at once.
      expect(own.requests.length).toBeLessThanOrEqual(3 + 4 * bad.tries);
      expect(await own.news('NODES')).toEqual([]);
      expect(await own.news('ACTIONS')).toEqual([]);
      own.faults.raw = () => false;
      expect(await own.round('supernodes', { client })).toMatchObject({ facts: 1 });
      expect(await own.round('actions', { client })).toMatchObject({ facts: 2 });
    },
  );

  it.each([
    ['text', '{"actions":[{"actionID":"', 'x'.repeat(65_536)],
    ['blanks', '{', ' '.repeat(65_536)],
    ['numbers', '{"actions":[0', ',0'.repeat(32_768)],
  ])('sends %s without end is read up to a bound', { tags: ['LS-24'] }, async (_what, first, again) => {
    const own = await knownChain();
    const { client } = await withClient(own, { timeLimitMs: 10_000 });
    own.faults.raw = (url, response) => {
      const isList = url.pathname.endsWith('list_super_nodes');
      if (isList) pour(response, first, again);
      return isList;
    };
    sent = 0;
    expect(await own.round('supernodes', { client })).toMatchObject({ failure: 'bad_answer' });
    const pages = own.requests.filter((path) => path.includes('list_super_nodes')).length;
    expect(pages, 'pages of 200, 25 and 4, and eleven records alone').toBe(14);
    expect(sent).toBeLessThan(pages * 16 * megabyte);
    expect(await own.news('NODES')).toEqual([]);
  });

  it.each([
    ['nested a million deep', '['.repeat(1_000_000)],
    ['a million empty objects', `{"supernodes":[${'{},'.repeat(1_000_000)}{}]}`],
  ])('sends JSON that is %s has it refused before it is parsed', async (_what, body) => {
    const own = await knownChain();
    own.faults.raw = (url, response) => {
      const isList = url.pathname.endsWith('list_super_nodes');
      if (isList) response.writeHead(200, json).end(body);
      return isList;
    };
    expect(await own.round('supernodes')).toMatchObject({ failure: 'bad_answer' });
  });

  it('takes its time with every answer, none of them too long, is given up', async () => {
    const own = await knownChain();
    for (let i = 0; i < 400; i++) own.chain.addSuperNode(`n${i}`);
    const { client } = await withClient(own, { timeLimitMs: 2_000, startMs: 100, averageMs: 1 });
    own.faults.raw = (url, response) => {
      const isList = url.pathname.endsWith('list_super_nodes');
      if (isList) setTimeout(() => response.writeHead(200, json).end(endlessPage(url)), 60);
      return isList;
    };
    expect(await own.round('supernodes', { client })).toMatchObject({ failure: 'unreachable' });
    expect(own.requests.length).toBeLessThan(10);
  });

  it('waits as long as it is asked to, where that is not long', async () => {
    const own = await knownChain();
    const began: number[] = [];
    own.faults.raw = (url, response) => {
      if (!url.pathname.endsWith('supernode/v1/params')) return false;
      began.push(performance.now());
      if (began.length > 1) return false;
      response.writeHead(429, { 'retry-after': '1' }).end();
      return true;
    };
    const { client } = await withClient(own);
    expect(await own.round('supernodes', { client })).toMatchObject({ facts: 1 });
    const [first = 0, second = 0] = began;
    expect(second - first).toBeGreaterThanOrEqual(1_000);
  });
});

/** A page with a key that never came before. */
function endlessPage(url: URL): string {
  const next = btoa(String(Number(atob(url.searchParams.get('pagination.key') ?? '')) + 1));
  return JSON.stringify({ supernodes: [{}], pagination: { next_key: next } });
}
