import { Agent, request } from 'undici';
import type { Context } from '../context.ts';
import type { Contender } from '../rounds.ts';
import type { Figures } from '../row.ts';
import { servePonder } from '../systems.ts';
import { numbers } from './requests.ts';
import { type Size, type World, worldOf } from './world.ts';

type Random = () => number;

/** Lists of our API in turn with those of ponder over as many rows. */
export async function besidePonder(context: Context, size: Size, url: string): Promise<Figures> {
  const questions = questionsOf(worldOf(size));
  const load = { random: numbers(3), signal: context.signal };
  const ours = askPaths(url, questions, { ...load, count: context.size(4000, 100) });
  return context.inTurn('higher', ours, async () => {
    const graphql = await servePonder(context, { actions: size.actions, supernodes: size.nodes });
    return askGraphql(graphql, questions, { ...load, count: context.size(120, 24) });
  });
}

/**
 * The same question to ours, as a path, and to a GraphQL server: a page of 20 actions, the newest first, and how many
 * match.
 */
type Question = Readonly<{
  path: (random: Random) => string;
  where: (random: Random) => string;
}>;

const at = (random: Random, count: number): number => Math.floor(random() * count);

/**
 * Every filter that both have, each over as many different values; the driver of the peer fills its tables with them.
 */
function questionsOf(world: World): readonly Question[] {
  const heightsOfPeer = world.actions / 3;
  const range = (random: Random, last: number): [number, number] => {
    const [a, b] = [at(random, last), at(random, last)];
    return [Math.min(a, b), Math.max(a, b)];
  };
  return [
    { path: () => '', where: () => '' },
    { path: () => 'state=approved', where: () => 'state: "APPROVED"' },
    { path: () => 'type=sense', where: () => 'type: "SENSE"' },
    {
      path: (random) => `creator=${world.makers[at(random, world.makers.length)] ?? ''}`,
      where: (random) => `creator: "creator${at(random, 1000)}"`,
    },
    {
      path: (random) => `supernode=${world.fleet[at(random, world.fleet.length)]?.accounts[0]?.account ?? ''}`,
      where: (random) => `supernode: "node${at(random, world.nodes)}"`,
    },
    {
      path: (random) => {
        const [from, to] = range(random, world.lastHeight);
        return `fromHeight=${from}&toHeight=${to}`;
      },
      where: (random) => {
        const [from, to] = range(random, heightsOfPeer);
        return `height_gte: ${from}, height_lte: ${to}`;
      },
    },
  ];
}

/** How the loop asks: how many questions in all, by how many clients at once. */
type Load = Readonly<{ count: number; random: Random; signal: AbortSignal }>;

const clients = 4;

/** Requests per second to our own API, each client asking as soon as it was answered. */
function askPaths(url: string, questions: readonly Question[], load: Load): Contender {
  return closedLoop(questions, load, async (question, dispatcher) => {
    const { statusCode, body } = await request(`${url}/v1/actions?${question.path(load.random)}`, { dispatcher });
    const answer = (await body.json()) as { total?: unknown };
    if (statusCode !== 200 || typeof answer.total !== 'number') throw new Error(`Annals answered ${statusCode}`);
  });
}

/** The same of a GraphQL server. */
function askGraphql(url: string, questions: readonly Question[], load: Load): Contender {
  return closedLoop(questions, load, async (question, dispatcher) => {
    const where = question.where(load.random);
    const filter = where === '' ? '' : `where: { ${where} }, `;
    const query = `{ actions(${filter}orderBy: "id", orderDirection: "desc", limit: 20) {
      items { id type state height createdAt } totalCount } }`;
    const headers = { 'content-type': 'application/json' };
    const asked = { method: 'POST', headers, body: JSON.stringify({ query }), dispatcher } as const;
    const { statusCode, body } = await request(url, asked);
    const answer = (await body.json()) as { data?: { actions?: { totalCount?: unknown } } };
    if (typeof answer.data?.actions?.totalCount !== 'number')
      throw new Error(`GraphQL answered ${statusCode}: ${JSON.stringify(answer).slice(0, 200)}`);
  });
}

function closedLoop(
  questions: readonly Question[],
  { count, signal }: Load,
  ask: (question: Question, dispatcher: Agent) => Promise<void>,
): Contender {
  return async () => {
    const dispatcher = new Agent({ connections: clients, pipelining: 1 });
    let left = count;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: clients }, async () => {
        for (left -= 1; left >= 0 && !signal.aborted; left -= 1) {
          const question = questions[left % questions.length];
          if (question) await ask(question, dispatcher);
        }
      }),
    );
    const rate = count / ((performance.now() - began) / 1000);
    await dispatcher.close();
    return rate;
  };
}
