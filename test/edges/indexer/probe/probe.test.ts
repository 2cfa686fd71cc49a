import { describe, expect, it } from 'vitest';
import { probeNode, type Probed, type ProbeOptions } from '../../../../src/edges/indexer/probe/probe.ts';
import type { Dial } from '../../../../src/edges/indexer/probe/dial.ts';
import { standStill } from '../../../support/stand-still.ts';
import { closedPort, dialInstead, type Doors, httpPort, recorded, startBlackHole, startNode } from './fake-node.ts';

const limits = { connectMs: 300, statusMs: 500, servicesMs: 300, maxBytes: 20_000 };
const somewhere = '1.1.1.1:4444';

function probe(doors: Doors, options: Partial<ProbeOptions> = {}, address = somewhere): Promise<Probed> {
  const { signal } = new AbortController();
  const base = { allowPrivate: false, allowHostNames: false, isServicesDue: false, limits, signal };
  return probeNode(address, { ...base, dial: dialInstead(() => doors), ...options });
}
const outcomes = ({ ports }: Probed) => ports.map(({ port, outcome }) => `${port} ${outcome}`);

/** What becomes of a node whose HTTP port answers so. */
async function statusOf(answer: Parameters<typeof startNode>[0], options: Partial<ProbeOptions> = {}): Promise<Probed> {
  await using node = await startNode(answer);
  return await probe(node.doors, options);
}

describe('probeNode', () => {
  it('finds three open ports and the figures of a real node', { tags: ['S2.open.nodes.probe-passes'] }, async () => {
    const probed = await statusOf(undefined);
    expect(outcomes(probed)).toEqual(['4444 open', '4445 open', '8002 open']);
    expect(probed).toMatchObject({ statusAnswer: 'ok', reported: [] });
    expect(probed.figures).toEqual({
      version: 'v2.6.2-testnet',
      peerCount: 5,
      cpuCores: 2,
      cpuUsagePercent: 97.51243781093649,
      memoryTotalGb: 23.540584564208984,
      memoryUsedGb: 1.3203964233398438,
      storageTotalGb: 297_608_491_418 / 1024 ** 3,
      storageUsedGb: 231_113_503_130 / 1024 ** 3,
      uptimeSeconds: 56,
    });
    expect(probed).not.toHaveProperty('listed');
  });

  it('blames no node for a time in which this process stood still', async () => {
    await using node = await startNode();
    const dial = (...dialled: Parameters<Dial>) => {
      const dialling = dialInstead(() => node.doors)(...dialled);
      standStill(2 * limits.connectMs);
      return dialling;
    };
    expect(outcomes(await probe(node.doors, { dial }))).toEqual(['4444 open', '4445 open', '8002 open']);
    const answering = statusOf((_, response) => {
      recorded(response, 'status-p2p-snake');
      standStill(2 * limits.statusMs);
    });
    expect((await answering).statusAnswer).toBe('ok');
  });

  it('leaves the peers out where the node does', async () => {
    const probed = await statusOf((_, response) => recorded(response, 'status'));
    expect(probed.statusAnswer).toBe('ok');
    expect(probed.figures).not.toHaveProperty('peerCount');
  });

  it('reads the status of a node that is taking a file', async () => {
    expect(await statusOf((_, response) => recorded(response, 'during-upload-status-p2p'))).toMatchObject({
      statusAnswer: 'ok',
    });
  });

  it('asks for the peers, uncompressed, and names no redirect, cookie or token', async () => {
    const asked: unknown[] = [];
    await statusOf(({ url, method, headers }, response) => {
      asked.push(method, url, headers);
      recorded(response, 'status-p2p-snake');
    });
    expect(asked).toEqual([
      'GET',
      '/api/v1/status?include_p2p_metrics=true',
      {
        host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        accept: 'application/json',
        'accept-encoding': 'identity',
        connection: 'close',
        'user-agent': 'annals',
      },
    ]);
  });

  it('lists the services where the status names none and it is time to ask', async () => {
    const probed = await statusOf(undefined, { isServicesDue: true });
    expect(probed.listed).toEqual({ at: expect.stringMatching(/Z$/), services: ['cascade'] });
  });

  it('does not ask for services that the status names', async () => {
    const status = JSON.stringify({ version: 'v3', registered_services: ['cascade', 'sense'] });
    const probed = await statusOf((_, response) => response.end(status), { isServicesDue: true });
    expect(probed).toMatchObject({ reported: ['cascade', 'sense'], figures: { version: 'v3' } });
    expect(probed).not.toHaveProperty('listed');
  });

  it('passes a node that keeps its services to itself', async () => {
    const probed = await statusOf(({ url }, response) => url?.includes('status') && recorded(response, 'status'), {
      isServicesDue: true,
    });
    expect(probed).toMatchObject({ statusAnswer: 'ok', listed: { services: [] } });
  });

  it(
    'tells refused ports from open ones, and asks no status of a closed one',
    { tags: ['S2.open.nodes.probe-passes'] },
    async () => {
      await using node = await startNode();
      const closed = await closedPort();
      const half = await probe({ ...node.doors, 4444: closed });
      expect(outcomes(half)).toEqual(['4444 refused', '4445 open', '8002 open']);
      expect(half.statusAnswer).toBe('ok');
      const deaf = await probe({ ...node.doors, 8002: closed });
      expect(outcomes(deaf)).toEqual(['4444 open', '4445 open', '8002 refused']);
      expect(deaf).toMatchObject({ statusAnswer: 'not_asked', reported: [] });
      expect(deaf).not.toHaveProperty('figures');
    },
  );

  it('gives up on ports that neither accept nor refuse', async () => {
    await using hole = await startBlackHole();
    const probed = await probe({ 4444: hole.port, 4445: hole.port, 8002: hole.port });
    expect(outcomes(probed)).toEqual(['4444 timeout', '4445 timeout', '8002 timeout']);
    expect(probed.statusAnswer).toBe('not_asked');
  });

  it.each(['10.0.0.1:4444', '127.1', 'node.example.org', 'junk:junk'])(
    'opens no connection for %j',
    async (address) => {
      await using node = await startNode();
      const probed = await probe(node.doors, {}, address);
      expect(outcomes(probed)).toEqual(['4444 not_dialled', '4445 not_dialled', '8002 not_dialled']);
      expect(probed).toMatchObject({ statusAnswer: 'not_asked' });
      expect(node.http.accepted()).toBe(0);
    },
  );

  it('ends with the reason when it is called off', async () => {
    await using node = await startNode(() => undefined);
    const controller = new AbortController();
    const probed = probe(node.doors, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(probed).rejects.toThrow('enough');
  });
});

describe('status answer', () => {
  it('follows no redirect', async () => {
    await using elsewhere = await httpPort((_, response) => recorded(response, 'status'));
    const location = `http://127.0.0.1:${elsewhere.port}/api/v1/status`;
    const probed = await statusOf((_, response) => response.writeHead(302, { location }).end());
    expect(probed.statusAnswer).toBe('http_error');
    expect(elsewhere.accepted()).toBe(0);
  });

  it('bounds the time of the whole answer, however it drips', async () => {
    const dripping = await statusOf((_, response) => {
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
    });
    expect(dripping.statusAnswer).toBe('timeout');
    const silent = await statusOf(() => undefined);
    expect(silent.statusAnswer).toBe('timeout');
  });

  it('waits for a node that takes its second', async () => {
    const slow = (_: unknown, response: Parameters<typeof recorded>[0]) =>
      void setTimeout(recorded, 1_100, response, 'status');
    expect(await statusOf(slow, { limits: { ...limits, statusMs: 6_000 } })).toMatchObject({ statusAnswer: 'ok' });
  });

  it('stops reading a body without end', async () => {
    let sent = 0;
    const probed = await statusOf((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1_000))) sent += 1_000;
      };
      response.on('drain', more);
      more();
    });
    expect(probed.statusAnswer).toBe('too_large');
    expect(sent).toBeLessThan(10_000_000);
  });

  it.each([
    ['HTML', '<!doctype html><title>hello</title>', 'malformed'],
    ['nothing', '', 'malformed'],
    ['no object', '[]', 'malformed'],
    ['an object without a version', '{}', 'malformed'],
    ['a wrong type', '{"version":"v1","resources":{"cpu":{"cores":"many"}}}', 'malformed'],
    ['a list in place of an object', '{"version":"v1","resources":[]}', 'malformed'],
    ['text in place of services', '{"version":"v1","registered_services":"cascade"}', 'malformed'],
    ['half a core', '{"version":"v1","resources":{"cpu":{"cores":1.5}}}', 'malformed'],
    ['a control character', '{"version":"v1\\u0000"}', 'malformed'],
    ['half a character', '{"version":"\\ud800"}', 'malformed'],
    ['a version that is a book', JSON.stringify({ version: 'v'.repeat(300) }), 'malformed'],
    ['too much', JSON.stringify({ version: 'v1', more: 'x'.repeat(20_000) }), 'too_large'],
    ['the least', '{"version":"v1"}', 'ok'],
  ])('counts %s as it is', async (_, body, answer) => {
    expect((await statusOf((_request, response) => response.end(body))).statusAnswer).toBe(answer);
  });

  it.each([
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 200, 'malformed'],
    ['an error', Buffer.from('{"version":"v1"}'), 500, 'http_error'],
    ['no content', Buffer.alloc(0), 204, 'http_error'],
  ])('counts %s as it is', async (_, body, status, answer) => {
    expect((await statusOf((_request, response) => response.writeHead(status).end(body))).statusAnswer).toBe(answer);
  });

  it('counts what is no HTTP, an early end and too many headers as what they are', async () => {
    const raw = (bytes: string) => statusOf(({ socket }) => void socket.end(bytes));
    expect((await raw('SSH-2.0-OpenSSH_9.9\r\n')).statusAnswer).toBe('malformed');
    expect((await raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{')).statusAnswer).toBe('http_error');
    expect((await raw('')).statusAnswer).toBe('http_error');
    expect(
      (await raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')).statusAnswer,
    ).toBe('http_error');
    expect((await raw(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n{}`)).statusAnswer).toBe('too_large');
  });

  it('adds up all volumes, takes numbers as text or number, and leaves out what cannot be', async () => {
    const volume = (total: unknown, used: unknown) => ({ path: '/', total_bytes: total, used_bytes: used });
    const status = {
      version: 'v1',
      uptime_seconds: '18446744073709551615',
      resources: {
        cpu: { usage_percent: 100.5, cores: -1 },
        memory: { total_gb: 'NaN', used_gb: 0 },
        storage_volumes: [volume('1073741824', 536_870_912), volume(1_073_741_824, '-1')],
      },
      network: { peers_count: 0 },
    };
    const probed = await statusOf((_, response) => response.end(JSON.stringify(status)));
    expect(probed.figures).toEqual({ version: 'v1', memoryUsedGb: 0, storageTotalGb: 2, peerCount: 0 });
  });
});
