import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { answerTo } from '../support/contract/client.ts';
import { type ChainStub, startChainStub } from '../support/chains/chain-stub.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { until } from '../support/polling.ts';
import { type Program, startProgram } from '../support/programs/program.ts';

type SyntaxNode = ReturnType<typeof parser.parse>['topNode'];
type Query = readonly [where: string, query: string];
type Selector = Readonly<{ metric: string; labels: readonly string[] }>;
/** The labels of each figure that an instance tells. */
type Scraped = ReadonlyMap<string, ReadonlySet<string>>;

/** Labels that the scraper adds, or that belong to the alert itself. */
const added = new Set(['instance', 'job', 'le']);

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../infra/${file}`, import.meta.url)), 'utf8');
const rules = parse(read('prometheus/annals.rules.yaml')) as {
  groups: {
    rules: { alert: string; expr: string; labels: Record<string, string>; annotations: Record<string, string> }[];
  }[];
};
const alerts = rules.groups.flatMap((group) => group.rules);
const board = JSON.parse(read('grafana/annals.json')) as {
  panels: { title: string; targets: { expr: string; legendFormat: string }[] }[];
};
const queries: readonly Query[] = [
  ...alerts.map(({ alert, expr }): Query => [`alert ${alert}`, expr]),
  ...board.panels.flatMap(({ title, targets }) => targets.map(({ expr }): Query => [`panel ${title}`, expr])),
];

/** With the key of a gateway and of a SuperNode, which then run unasked. */
function keyFile(): { file: string; remove: () => void } {
  const { folder, remove } = freshFolder();
  const file = path.join(folder, 'gateway.key');
  writeFileSync(file, '01'.repeat(32));
  return { file, remove };
}

/** A webhook of a stream that has no event, so that nothing is sent to it. */
async function registerHook(socketPath: string): Promise<void> {
  const body = JSON.stringify({ url: 'http://127.0.0.1:1/', streams: ['PEERS'] });
  const headers = { 'content-type': 'application/json' };
  const { status } = await answerTo({ socketPath }, { method: 'POST', path: '/admin/v1/hooks', headers, body });
  expect(status).toBe(201);
}

describe('alert rules and Grafana board', () => {
  let chain: ChainStub;
  let program: Program;
  let scraped: Scraped;
  let key: ReturnType<typeof keyFile>;

  beforeAll(async () => {
    key = keyFile();
    chain = await startChainStub();
    chain.chain.addSuperNode('alpha');
    chain.chain.addValidator('alpha');
    chain.chain.block();
    program = await startProgram({
      env: {
        CHAIN_API_BASE: chain.url,
        ACTIONS_SYNC_INTERVAL: '200ms',
        PROBE_PRIVATE_ADDRESSES: 'allow',
        SCRUB_INTERVAL: '200ms',
        GATEWAY_KEY_FILE: key.file,
        GATEWAY_PORT: '0',
        NODE_KEY_FILE: key.file,
        GRPC_PORT: '0',
        P2P_PORT: '0',
        NODE_HTTP_PORT: '0',
      },
    });
    await program.untilReady();
    await registerHook(program.instance.urls['admin'] ?? '');
    for (const asked of ['/v1/actions', '/nowhere']) await fetch(program.base + asked);
    scraped = await until('a node has been probed and the archive compared', async () => {
      const found = figuresIn(await (await fetch(`${program.base}/metrics`)).text());
      const late = [
        'annals_supernodes',
        'annals_sync_age_seconds',
        'annals_archive_scrub_age_seconds',
        'annals_node_single_copies',
        'annals_hook_lag_events',
      ];
      return late.every((figure) => found.has(figure)) && found;
    });
  });
  afterAll(async () => {
    await program?.stop();
    await chain?.stop();
    key?.remove();
  });

  test.each(queries)('%s asks only for figures and labels that an instance tells', (_, query) => {
    const selectors = selectorsIn(query);
    expect(selectors).not.toEqual([]);
    for (const { metric, labels } of selectors) {
      const told = scraped.get(metric);
      expect([...scraped.keys()], query).toContain(metric);
      expect(
        labels.filter((label) => !added.has(label) && told?.has(label) === false),
        query,
      ).toEqual([]);
    }
  });

  test('every alert has a line for the operator, and no line is of an alert that is gone', () => {
    const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
    const lines = page.split('\n').filter((line) => line.startsWith('| Annals'));
    const named = lines.flatMap(
      (line) =>
        line
          .split('|', 2)[1]
          ?.split(',')
          .map((name) => name.trim()) ?? [],
    );
    expect(named.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  test('every alert has a severity and says what is the matter', () => {
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning'], alert).toContain(labels['severity']);
      expect(annotations['summary'], alert).toBeTruthy();
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });

  test('a query for what nobody tells would be found', () => {
    expect(selectorsIn('sum by (lease) (annals_lease_held{role="x"})')).toEqual([
      { metric: 'annals_lease_held', labels: ['role', 'lease'] },
    ]);
    expect(() => selectorsIn('sum by lease) (annals_lease_held)')).toThrow('is no PromQL');
  });
});

/** Every figure that has a value, by its name, with the labels that it has somewhere. */
function figuresIn(text: string): Scraped {
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})? [^ ]+$/.exec(line) ?? [];
    if (name === '') continue;
    const known = found.get(name) ?? new Set<string>();
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    found.set(name, known);
  }
  return found;
}

/** What a query selects, with the labels that it matches or groups by; fails on what is no PromQL. */
function selectorsIn(query: string): Selector[] {
  const textOf = ({ from, to }: SyntaxNode): string => query.slice(from, to);
  const grouped: string[] = [];
  const selectors: { metric: string; labels: string[] }[] = [];
  parser.parse(query).iterate({
    enter: ({ name, type, node }) => {
      if (type.isError) throw new Error(`${query} is no PromQL`);
      if (name === 'VectorSelector')
        selectors.push({ metric: textOf(node.getChild('Identifier') ?? node), labels: [] });
      if (name !== 'LabelName') return;
      const isMatcher = ['UnquotedLabelMatcher', 'LabelMatcher'].includes(node.parent?.name ?? '');
      if (isMatcher) selectors.at(-1)?.labels.push(textOf(node));
      else grouped.push(textOf(node));
    },
  });
  return selectors.map(({ metric, labels }) => ({ metric, labels: [...labels, ...grouped] }));
}
