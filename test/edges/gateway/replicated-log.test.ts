import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClusterNode, type NatsCluster, startNatsCluster } from '../../support/programs/nats-cluster.ts';
import { actionOver, gatewayUnderTest } from './gateway-under-test.ts';

/** How many tasks are read at once; a longer run says more. */
const tasks = Number(process.env['FRESH_READS'] ?? 150);
const network = 'replicated';
const unlimited = { rateLimit: undefined, downloadsMax: tasks, downloadsMaxPerAddress: tasks };

let cluster: NatsCluster;
beforeAll(async () => (cluster = await startNatsCluster()), 60_000);
afterAll(async () => await cluster.stop());

it(
  'a task that was just answered is there at once, whichever copy of the log is read',
  { tags: ['S3.two.fresh'], timeout: 60_000 + tasks * 200 },
  async () => {
    const { user, pass } = cluster;
    const at = async ({ url }: Pick<ClusterNode, 'url'>) =>
      await gatewayUnderTest({ network, nats: { url, user, pass }, streams: { replicas: 3 }, settings: unlimited });
    const [any] = cluster.nodes;
    if (!any) throw new Error('The cluster has no server');
    await (await at(any))[Symbol.asyncDispose]();
    const leader = await cluster.leaderOf(`TRANSFERS_${network}`);
    const follower = cluster.nodes.find(({ name }) => name !== leader.name) ?? any;
    await using first = await at(leader);
    await using other = await at(follower);
    const action = await actionOver(Buffer.from('a file'), { chainState: 'done', isPublic: true });
    const missed: string[] = [];
    for (let count = 1; count <= tasks; count++) {
      first.actions.set(String(count), { ...action, id: String(count) });
      const where = `${first.url}/api/v1/actions/cascade/${count}/downloads?public=true`;
      const answer = await fetch(where, { method: 'POST' });
      const { task_id: task } = (await answer.json()) as { task_id: string };
      expect(answer.status).toBe(202);
      for (const { url } of [first, other]) {
        const history = await fetch(`${url}/api/v1/downloads/cascade/${task}/history`);
        const states = (await history.json()) as unknown[];
        if (history.status !== 200 || states.length === 0) missed.push(`${count}: ${history.status}`);
      }
    }
    expect(missed).toEqual([]);
  },
);
