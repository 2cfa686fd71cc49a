import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { openBrowser } from '../../support/programs/browser.ts';
import { until } from '../../support/polling.ts';
import { type Deployed, deployContract } from './deployed-contract.ts';

type Json = Record<string, unknown>;
type Ask = (path: string) => Promise<Json>;
/** Where the explorer, the gateway and the JSON-RPC of the EVM are. */
type Addresses = Readonly<{ base: string; gateway: string; evm: string }>;
type Finding = Readonly<{ id: string; impact: string; nodes: readonly { html: string }[] }>;

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const widths = [400, 1400];
const schemes = ['light', 'dark'] as const;
/** A scheme changes colours alone, so that its second one need not be held against the other rules again. */
const everyRule = {};
const rulesOfColour = { runOnly: ['color-contrast', 'link-in-text-block'] };
/** Shown while something is read. */
const reading = 'main [role=status]:text-is("Reading …"), main [aria-busy=true]';

/** The first of a list that the program answers, as soon as there is one. */
async function first<T>(ask: Ask, path: string, field: string): Promise<T> {
  return await until(`${path} lists something`, async () => {
    const [one] = (await ask(path))[field] as T[];
    return one ?? false;
  });
}

/** Every page of the explorer, with what the local network has. */
async function pagesOf(ask: Ask): Promise<readonly string[]> {
  const action = await first<{ id: string }>(ask, '/v1/actions?state=finalized&limit=1', 'actions');
  const node = await first<{ id: string }>(ask, '/v1/supernodes/metrics?status=available', 'supernodes');
  const own = await first<{ hash: string; height: number }>(ask, '/chain.json', 'transactions');
  const query = `/evm.json?method=eth_getLogs&params=${encodeURIComponent('[{"fromBlock":"0x0"}]')}`;
  const log = await first<{ transactionHash: string; address: string }>(ask, query, 'result');
  return [
    '/',
    '/actions',
    '/actions?type=cascade&state=finalized',
    `/actions/${action.id}`,
    '/nodes',
    `/nodes/${node.id}`,
    '/log',
    '/log/ACTIONS',
    '/log/ACTIONS/1',
    '/log/ACTIONS/2',
    '/models',
    '/chain',
    `/chain/blocks/${own.height}`,
    `/chain/transactions/${log.transactionHash}`,
    `/chain/transactions/0x${own.hash.toLowerCase()}`,
    `/chain/addresses/${log.address}`,
    '/transfers',
    '/verify?event=ACTIONS:1',
    '/search?q=1',
    '/docs',
  ];
}

/** Whether the search shows links; one to a single page would go away under the hand that follows it. */
const rememberMatches = `globalThis.matched = false;
  new MutationObserver(() => { matched ||= document.querySelector('.matches a') !== null; })
    .observe(document, { childList: true, subtree: true });`;

/** Opens every page in a real browser, in both colour schemes and both widths, and without scripts. */
export async function expectExplored({ base, gateway, evm }: Addresses, ask: Ask): Promise<void> {
  const browser = await openBrowser();
  try {
    const contract = await deployContract(evm);
    const paths = [...(await pagesOf(ask)), `/chain/addresses/${contract.address}`];
    await expectSound(browser, base, paths);
    await expectSound(browser, gateway, ['/transfers?action=1', '/docs']);
    await expectLinked(
      browser,
      base,
      paths.filter((path) => path !== '/docs'),
    );
    await expectVerified(browser, base);
    await expectSearched(browser, base);
    await expectWalked(browser, base, ask);
    await expectFoundByHash(browser, base, ask);
    await expectCaused(browser, base);
    await expectContract(browser, base, contract);
  } finally {
    await browser.close();
  }
}

async function expectSound(browser: Browser, base: string, paths: readonly string[]): Promise<void> {
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('console', (said) => said.type() === 'error' && problems.push(`${said.text()} ${said.location().url}`));
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('request', (request) => request.url().startsWith(`${base}/`) || problems.push(`asks ${request.url()}`));
  for (const path of paths) {
    await page.goto(`${base}${path}`);
    await shown(page);
    const alerts = await page.locator('main [role=alert]').allTextContents();
    for (const problem of [...alerts, ...(await problemsOf(page))]) problems.push(`${path}: ${problem}`);
  }
  expect(problems).toEqual([]);
  await page.close();
}

/** What keeps somebody from reading a page, in either colour scheme and width. */
async function problemsOf(page: Page): Promise<readonly string[]> {
  const problems: string[] = [];
  await page.evaluate(axe);
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const beyond = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    if (beyond !== 0) problems.push(`${String(beyond)} px too wide at ${width}`);
    for (const [at, colorScheme] of schemes.entries()) {
      await page.emulateMedia({ colorScheme });
      const findings = await findingsOf(page, at === 0 ? everyRule : rulesOfColour);
      for (const finding of findings) problems.push(`${width} ${colorScheme} ${finding}`);
    }
  }
  return problems;
}

async function shown(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor({ state: 'attached' });
  await expect.poll(async () => await page.locator(reading).count()).toBe(0);
}

/** What axe finds to be serious or critical. */
async function findingsOf(page: Page, rules: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const options = JSON.stringify({ ...rules, resultTypes: ['violations'] });
  const { violations } = (await page.evaluate(`axe.run(${options})`)) as { violations: Finding[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Without scripts each page links to its JSON, and every link answers. */
async function expectLinked(browser: Browser, base: string, paths: readonly string[]): Promise<void> {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  for (const path of paths) {
    await page.goto(`${base}${path}`);
    const links = await page.locator('main li a').all();
    const hrefs = await Promise.all(links.map(async (link) => await link.getAttribute('href')));
    const statuses = await Promise.all(hrefs.map(async (href) => (await fetch(`${base}${href}`)).status));
    expect([path, hrefs, statuses]).toEqual([path, hrefs, hrefs.map(() => 200)]);
    expect(hrefs.length).toBeGreaterThan(0);
  }
  await context.close();
}

async function expectVerified(browser: Browser, base: string): Promise<void> {
  const page = await browser.newPage();
  await page.goto(`${base}/verify?event=ACTIONS:1`);
  await expect.poll(async () => await page.getByLabel('Key of the log').inputValue()).toContain('+');
  const verdict = page.locator('main p[role=status]');
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await expect.poll(async () => await verdict.textContent()).toContain('has this event at sequence 1');
  const event = page.getByLabel('Event, byte for byte');
  await event.fill((await event.inputValue()).replace('"height":', '"height":1'));
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await expect.poll(async () => await verdict.textContent()).toContain('does not lead to the root');
  await page.close();
}

/** By the keyboard alone: the search leads to an action, and the action to the node that finalized it. */
async function expectSearched(browser: Browser, base: string): Promise<void> {
  const page = await browser.newPage();
  await page.goto(`${base}/`);
  await page.getByRole('searchbox').focus();
  await page.keyboard.type('ACTIONS:1');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${base}/log/ACTIONS/1`);
  await page.getByText('checked in this browser').waitFor();
  await page.getByRole('searchbox').fill('1');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Action 1', exact: true }).click();
  await page.waitForURL(`${base}/actions/1`);
  await page.goBack();
  await page.waitForURL(/search/);
  await page.close();
}

/** The hash of an action's data, in either form, leads from the search to the action, and from there back to a list. */
async function expectFoundByHash(browser: Browser, base: string, ask: Ask): Promise<void> {
  const { id } = await first<{ id: string }>(ask, '/v1/actions?state=finalized&limit=1', 'actions');
  const hash = String((await ask(`/v1/actions/${id}`))['data_hash']);
  const page = await browser.newPage();
  const search = async (text: string) => await page.goto(`${base}/search?q=${encodeURIComponent(text)}`);
  // In hex it may be a transaction's as well.
  await search(Buffer.from(hash, 'base64').toString('hex'));
  await page.getByRole('link', { name: `Action ${id}, of the data with this hash` }).click();
  await page.waitForURL(`${base}/actions/${id}`);
  await page.addInitScript({ content: rememberMatches });
  await search(hash);
  await page.waitForURL(`${base}/actions/${id}`);
  expect(await page.evaluate('matched')).toBe(false);
  await page.getByRole('link', { name: hash, exact: true }).click();
  await page.waitForURL(`${base}/actions?dataHash=${encodeURIComponent(hash)}`);
  await page.getByText('1 action', { exact: true }).waitFor();
  await page.close();
}

/** A request leads to the rounds that it caused, one of them to the probes that followed, and each of these back. */
async function expectCaused(browser: Browser, base: string): Promise<void> {
  const headers = { authorization: 'Bearer let-me-in' };
  const answer = await fetch(`${base}/v1/supernodes/sync`, { method: 'POST', headers });
  const { position } = (await answer.json()) as { position: string };
  const at = (JSON.parse(Buffer.from(position, 'base64url').toString()) as Record<string, [string, number]>)[
    'SYNC'
  ]?.[1];
  const page = await browser.newPage();
  const open = async (path: string) => await page.goto(`${base}${path}`);
  const rows = (name: string, hasText: string) =>
    page.getByRole('table', { name, exact: true }).getByRole('row').filter({ hasText });
  const round = rows('What it caused', 'SyncRoundCompleted').filter({ hasText: 'supernodes' });
  const probe = rows('What it caused', 'Probe').first();
  await until('the request shows its rounds', async () => {
    await open(`/log/SYNC/${at}`);
    await shown(page);
    return (await round.count()) === 1;
  });
  await round.getByRole('link').first().click();
  await until('the round shows its probes', async () => {
    await page.reload();
    await shown(page);
    return (await probe.count()) === 1;
  });
  const path = new URL(page.url()).pathname;
  await probe.getByRole('link').first().click();
  await page.waitForURL(/\/log\/PROBES\//);
  await rows('Caused by', 'SyncRoundCompleted').getByRole('link').first().click();
  await page.waitForURL(`${base}${path}`);
  await rows('Caused by', 'SyncRequested').getByRole('link').first().click();
  await page.waitForURL(`${base}/log/SYNC/${at}`);
  await page.close();
}

/** From the start page to the SuperNodes that were down when an action was finalized, in four steps at most. */
async function expectWalked(browser: Browser, base: string, ask: Ask): Promise<void> {
  const { id } = await first<{ id: string }>(ask, '/v1/actions?state=finalized&limit=1', 'actions');
  const finalizedAt = String((await ask(`/v1/actions/${id}`))['finalized_at']);
  const page = await browser.newPage();
  await page.goto(`${base}/`);
  await page.getByRole('link', { name: 'finalized' }).click();
  await page.getByRole('link', { name: id, exact: true }).click();
  await page.getByRole('link', { name: 'SuperNodes at that moment' }).last().click();
  await page.waitForURL(`${base}/nodes?as_of=${encodeURIComponent(finalizedAt)}`);
  await page.getByRole('group', { name: 'Time that is shown' }).getByText('as of').waitFor();
  await shown(page);
  expect(await page.locator('main .card').count()).toBeGreaterThan(3);
  expect(await page.getByText('what is shown here is of now').count()).toBe(0);
  await expectStillScale(page);
  await page.getByRole('link', { name: 'Back to now' }).click();
  await page.waitForURL(`${base}/nodes`);
  await page.close();
}

/** A place on the slider is the same instant a minute later, while the past is shown. */
async function expectStillScale(page: Page): Promise<void> {
  const slideTo = async (place: string): Promise<string> => {
    await page.getByRole('slider', { name: 'Instant that is shown' }).fill(place);
    return new URL(page.url()).search;
  };
  const before = await slideTo('400');
  await page.evaluate('{ const now = Date.now; Date.now = () => now() + 60_000; }');
  expect(await slideTo('700')).not.toBe(before);
  expect(await slideTo('400')).toBe(before);
}

/** A contract's page leads to who created it and in which transaction, and that leads back; its code can be called. */
async function expectContract(
  browser: Browser,
  base: string,
  { address, creator, creation, call }: Deployed,
): Promise<void> {
  const page = await browser.newPage();
  await page.goto(`${base}/chain/addresses/${address}`);
  await page.getByRole('link', { name: creation, exact: true }).click();
  await page.waitForURL(`${base}/chain/transactions/${creation}`);
  await page.getByRole('link', { name: address, exact: true }).first().click();
  await page.waitForURL(`${base}/chain/addresses/${address}`);
  await page.getByRole('link', { name: creator, exact: true }).first().waitFor();
  const part = (name: string) => page.getByRole('region', { name, exact: true });
  const row = { hasText: call.slice(0, 10) };
  await part('Latest transactions').getByRole('row').filter(row).waitFor();
  await part('Logs').getByText('Transfer').waitFor();
  await part('Calls').getByText('getParams').first().waitFor();
  await part('Storage')
    .getByRole('row')
    .filter({ hasText: `0x${'2a'.padStart(64, '0')}` })
    .waitFor();
  await page.getByLabel('Function').selectOption('totalSupply');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await part('Read').getByRole('definition').filter({ hasText: '42' }).waitFor();
  await page.close();
}
