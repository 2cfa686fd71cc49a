/** An answer as it came: all that a client can see of it, but for what tells the time. */
export type PlainAnswer = Readonly<{ status: number; headers: Readonly<Record<string, string>>; body: string }>;

/** Headers that differ between two askings of the same thing: the time, and how old something is. */
const passing: ReadonlySet<string> = new Set(['date', 'annals-lag-ms', 'annals-chain-age-ms']);

const actionTypes = ['', 'type=cascade', 'type=sense'];
const actionStates = ['', 'state=registered', 'state=finalized', 'state=approved'];
const nodeStates = ['active', 'disabled', 'stopped', 'penalized', 'postponed', 'storage_full'];
const validatorStates = ['bonded', 'unbonding', 'unbonded', 'jailed', 'BOND_STATUS_BONDED'];
const currentStates = ['', ...[...nodeStates, ...validatorStates].map((state) => `currentState=${state}`)];
const probeStates = ['', 'status=available', 'status=unavailable', 'minFailedProbeCounter=1', 'version=2.4.0'];

/** Paths that take no parameter and stand for themselves. */
const single = [
  '/',
  '/about.json',
  '/docs',
  '/healthz',
  '/openapi.json',
  '/v1/nothing',
  '/v1/actions/0',
  '/v1/actions/nothing',
  '/v1/actions?limit=0',
  '/v1/actions/stats?type=cascade',
  '/v1/actions/stats?type=sense',
  '/v1/supernodes/nothing/metrics',
  '/v1/supernodes/nothing/paymentInfo',
  '/v1/supernodes/action-stats',
  '/v1/supernodes/stats',
  '/v1/supernodes/sync',
  '/v1/version/matrix',
];

/**
 * Asks a running API everything that a client can ask, and gives back every answer by its request, in the order of
 * asking.
 *
 * Lists are walked page by page under many filters; every action and SuperNode that they show is asked for by itself,
 * with its creator, heights and times as further filters. `/metrics` and `/readyz` are left out.
 *
 * @example const before = await allAnswers(program.base)
 */
export async function allAnswers(base: string): Promise<ReadonlyMap<string, PlainAnswer>> {
  const answers = new Map<string, PlainAnswer>();
  const askOne = async (path: string): Promise<Json> => {
    const answer = await ask(base + path);
    answers.set(path, answer);
    return answer.status === 200 && answer.body.startsWith('{') ? parse(answer.body) : {};
  };
  const walk = async (path: string, list: string): Promise<Json[]> => {
    const shown: Json[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const { [list]: records, cursor } = await askOne(next);
      shown.push(...asList(records));
      next = typeof cursor === 'string' ? `${path}&cursor=${cursor}` : undefined;
    }
    return shown;
  };
  for (const path of single) await askOne(path);
  await askActions(walk, askOne);
  await askNodes(walk, askOne);
  return answers;
}

type Json = Readonly<Record<string, unknown>>;
type Ask = (path: string) => Promise<Json>;
type WalkList = (path: string, list: string) => Promise<Json[]>;

async function askActions(walk: WalkList, askOne: Ask): Promise<void> {
  for (const type of actionTypes)
    for (const state of actionStates) await walk(`/v1/actions?limit=20&${type}&${state}`, 'actions');
  const shown = await walk('/v1/actions?limit=7&include_transactions=true', 'actions');
  const details: Json[] = [];
  for (const { id } of shown) details.push(await askOne(`/v1/actions/${String(id)}`));
  const creators = valuesOf(details, 'creator');
  const finalizing = new Set(details.flatMap(({ supernodes }) => asTexts(supernodes)));
  const people = [...[...creators].map((one) => `creator=${one}`), ...[...finalizing].map((one) => `supernode=${one}`)];
  for (const person of people)
    for (const type of actionTypes) await walk(`/v1/actions?limit=9&${person}&${type}`, 'actions');
  for (const height of valuesOf(details, 'height')) {
    await askOne(`/v1/actions?fromHeight=${height}`);
    await askOne(`/v1/actions?toHeight=${height}&type=cascade`);
  }
  for (const time of valuesOf(details, 'created_at')) {
    await askOne(`/v1/actions/stats?from=${time}`);
    await askOne(`/v1/actions/stats?to=${time}&type=sense`);
  }
}

async function askNodes(walk: WalkList, askOne: Ask): Promise<void> {
  for (const state of currentStates) {
    for (const probe of probeStates) await walk(`/v1/supernodes/metrics?limit=4&${state}&${probe}`, 'supernodes');
    await askOne(`/v1/supernodes/unavailable?${state}`);
  }
  for (const { id } of await walk('/v1/supernodes/metrics?limit=200', 'supernodes')) {
    await askOne(`/v1/supernodes/${String(id)}/metrics`);
    await askOne(`/v1/supernodes/${String(id)}/paymentInfo`);
  }
}

async function ask(url: string): Promise<PlainAnswer> {
  const response = await fetch(url, { redirect: 'manual' });
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !passing.has(name)));
  const bytes = await response.arrayBuffer();
  return {
    status: response.status,
    headers,
    body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
  };
}

function parse(text: string): Json {
  return JSON.parse(text) as Json;
}

const asList = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const asTexts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const valuesOf = (records: readonly Json[], name: string): Set<string> =>
  new Set(records.filter((record) => (record[name] ?? null) !== null).map((record) => String(record[name])));
