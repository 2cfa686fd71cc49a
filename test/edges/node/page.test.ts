import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { settings } from '../../../src/config.ts';
import { observeNodes } from '../../../src/edges/node/observed.ts';
import { networkUnderTest } from './network-under-test.ts';

const undo = new AsyncDisposableStack();
afterEach(() => undo.disposeAsync());

const page = readFileSync(path.resolve('docs/node.md'), 'utf8');
const run = promisify(execFile);

describe('docs/node.md', () => {
  it('has examples that run', { tags: ['S1.page'] }, async () => {
    const { cast, start } = await networkUnderTest(undo, 1);
    const [plan] = cast;
    if (!plan) throw new Error('the cast has one');
    const node = await start(plan);
    const [, block = ''] = /```sh\n(NODE=[^]*?)```/.exec(page) ?? [];
    const script = block.replace(/^NODE=\S+/, `NODE=${node.host}`).replace(/^(?=curl|node_modules)/gm, 'echo; ');
    const { stdout } = await run('bash', ['-euc', script], { timeout: 30_000 });
    const answers = stdout
      .split(/\n(?=\{)/)
      .filter((text) => text.trim() !== '')
      .map((text) => JSON.parse(text) as object);
    expect(answers).toMatchObject([
      { version: 'v1.2.3', p2p_metrics: null },
      { version: 'v1.2.3', p2p_metrics: { ban_list: [] } },
      { files: [] },
      { version: 'v1.2.3', p2pMetrics: {} },
      { version: 'v1.2.3', p2pMetrics: {} },
    ]);
  });

  it('names settings and metrics that there are', { tags: ['S1.page'] }, async () => {
    const variables = new Set(Object.values(settings).map(({ env }) => env));
    const named = [...page.matchAll(/`([A-Z][A-Z\d]*_[A-Z\d_]+)(?:=[^`]*)?`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(10);
    const others = ['RESOURCE_EXHAUSTED'];
    expect(named.filter((name) => !variables.has(name) && !others.includes(name))).toEqual([]);
    const { gauges } = observeNodes(async () => []);
    const text = (await Promise.all(gauges.map(({ metrics }) => metrics()))).join('\n');
    const defined = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    const shown = [...page.matchAll(/`(annals_node_\w+)`/g)].map(([, name = '']) => name);
    expect(shown.toSorted()).toEqual(defined.toSorted());
  });
});
