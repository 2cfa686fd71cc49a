import { connect, type NatsConnection, wsconnect } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import { actionOf, cause, connected, decision, probeOf, validatorOf } from './fresh-log.ts';

/** A server with the account of outsiders; `user` and `pass` are those of the service. */
export type OpenServer = Readonly<{ url: string; wsUrl: string; user: string; pass: string }>;

/** An anonymous connection, and what the server refuses it. */
async function outsider(
  { url, wsUrl }: OpenServer,
  transport: string,
): Promise<{ nc: NatsConnection; refused: string[] }> {
  const nc = await (transport === 'TCP' ? connect({ servers: url }) : wsconnect({ servers: wsUrl }));
  onTestFinished(() => nc.close());
  const refused: string[] = [];
  void (async () => {
    for await (const status of nc.status()) if (status.type === 'error') refused.push(status.error.message);
  })();
  return { nc, refused };
}

/** Tests what an outsider may do, and all that it may not, over both transports. */
export function testOutsiders(server: () => OpenServer): void {
  describe.each(['TCP', 'WebSocket'])('an outsider over %s', (transport) => {
    test('reads actions and probes as they happen, each told by its stream and sequence', async () => {
      const { log, network } = await openLog(server());
      const { nc } = await outsider(server(), transport);
      const [actions, probes] = [
        nc.subscribe(`live.action.${network}.>`, { max: 1 }),
        nc.subscribe(`live.probe.${network}.>`, { max: 1 }),
      ];
      await nc.flush();
      await log.append([decision(0, probeOf('n1'))], cause);
      await log.append([decision(0, actionOf('7'))], cause);
      for await (const msg of probes) {
        expect(msg.json()).toMatchObject({ type: 'annals.ProbeFailed.v1', data: { node: 'n1' } });
        expect([msg.headers?.get('Nats-Stream'), msg.headers?.get('Nats-Sequence')]).toEqual([
          `PROBES_${network}`,
          '1',
        ]);
        expect(msg.headers?.get('Content-Type')).toBe('application/cloudevents+json');
      }
      for await (const msg of actions)
        expect(msg.json()).toMatchObject({ specversion: '1.0', subject: '7', type: 'annals.ActionExpired.v1' });
    });

    test('sees nothing of sync and of validators', async () => {
      const { log, network } = await openLog(server());
      const { nc } = await outsider(server(), transport);
      const seen: string[] = [];
      nc.subscribe('live.>', { callback: (_, msg) => void (msg.subject.includes(network) && seen.push(msg.subject)) });
      await nc.flush();
      const known = { chainId: 'c', cursor: 1, unread: [] };
      const request = { type: 'SyncRequested', data: { source: 'supernodes', at: cause.at, known } } as const;
      await log.append([{ kind: 'sync', entity: 'supernodes', facts: [request], expected: 0 }], cause);
      await log.append([decision(0, validatorOf('v'))], cause);
      await log.append([decision(0, probeOf('n1'))], cause);
      await expect.poll(() => seen).toEqual([`live.probe.${network}.n1`]);
    });

    test.each(['evt.>', 'evt.action.>', '$JS.>', '$SYS.>', '_INBOX.>', '>', 'live'])(
      'may not subscribe to %s',
      async (subject) => {
        const { nc, refused } = await outsider(server(), transport);
        const ended = nc.subscribe(subject).closed;
        expect(await ended.then((error) => error?.message)).toContain('Permissions Violation for Subscription');
        await expect
          .poll(() => refused)
          .toEqual([expect.stringContaining(`Permissions Violation for Subscription to "${subject}"`)]);
      },
    );

    test.each(['evt.action.local.1', 'live.action.local.1', '$JS.API.INFO', '$JS.API.STREAM.NAMES', '_INBOX.a', 'x'])(
      'may not publish to %s',
      async (subject) => {
        const { nc, refused } = await outsider(server(), transport);
        nc.publish(subject, 'x');
        await nc.flush();
        await expect
          .poll(() => refused)
          .toEqual([expect.stringContaining(`Permissions Violation for Publish to "${subject}"`)]);
      },
    );
  });
}

async function openLog(server: OpenServer) {
  const nc = await connected(server);
  const network = freshNetwork();
  await ensureStreams(nc, network);
  return { network, log: createLog(nc, network) };
}
