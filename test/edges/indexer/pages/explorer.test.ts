import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { refusalPage, registerPages } from '../../../../src/edges/indexer/pages/pages.ts';
import { until } from '../../../support/polling.ts';
import { openBrowser } from '../../../support/programs/browser.ts';
import { actionFacts, nodeFacts, timeOf, validatorFacts } from '../../../support/histories/facts.ts';
import { pastOf, type RestServer, startRest } from '../rest/rest-server.ts';
import { alpha, sample } from '../rest/sample.ts';
import { listening, newSince, subscribe, tell, tellAgainAndAgain } from './live-listeners.ts';
import { eventSource, logs, pageSources, pastIn, setLog } from './page-sources.ts';

const huge = '184467440737095516160';
const long = 'x'.repeat(1000);
const unwieldy = [
  actionFacts(huge, { creator: long, dataHash: long }).registered({ price: { denom: long, amount: '9'.repeat(70) } }),
  nodeFacts(alpha).changed({ address: `${long}:4444`, note: long, stateReason: long }),
  validatorFacts(alpha).changed({ moniker: long, jailed: true }),
];
/** A page is told once a second at most that the read models have advanced. */
const slowerThanAdvancesMs = 1500;
let rest: RestServer;
let browser: Browser;
/** Its pages share a cache, and one connection for the live events. */
let context: BrowserContext;

beforeAll(async () => {
  browser = await openBrowser();
  const facts = [...sample, ...unwieldy];
  rest = await startRest(facts, {
    past: pastIn(pastOf(facts)),
    eventSource,
    logs,
    subscribe,
    registerPages: (pages) => registerPages(pages, pageSources),
    refusalPage,
  });
  context = await browser.newContext();
  return async () => {
    await browser.close();
    await rest.close();
  };
});

/** Opens a page of the explorer, and waits until it shows what it reads. */
async function open(path: string, width = 1400): Promise<Page> {
  const page = await context.newPage();
  onTestFinished(() => page.close());
  await page.setViewportSize({ width, height: 900 });
  await go(page, path);
  return page;
}

async function go(page: Page, path: string): Promise<void> {
  await page.goto(`${rest.url}${path}`);
  await shown(page);
}

async function shown(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor({ state: 'attached' });
  const reading = 'main [role=status]:text-is("Reading …"), main [aria-busy=true]';
  await expect.poll(async () => await page.locator(reading).count()).toBe(0);
}

it('what pages load is 304 to whoever has it, by a tag that a proxy weakened too', async () => {
  const asset = `${rest.url}/assets/explorer.js`;
  const tag = (await fetch(asset)).headers.get('etag') ?? '';
  const statusOf = async (known: string) =>
    (await fetch(asset, { headers: { 'if-none-match': known }, cache: 'no-store' })).status;
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`])
    expect([known, await statusOf(known)]).toEqual([known, 304]);
  for (const known of ['"other"', tag.slice(1, -1)]) expect([known, await statusOf(known)]).toEqual([known, 200]);
});

it('filters actions by what is chosen, and shows what was chosen', async () => {
  const page = await open('/actions');
  await page.locator('select[name=type]').selectOption('sense');
  await page.locator('select[name=state]').selectOption('registered');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(`${rest.url}/actions?type=sense&state=registered`);
  await page.reload();
  await shown(page);
  const chosen = ['type', 'state'].map((name) => page.locator(`select[name=${name}]`).inputValue());
  expect(await Promise.all(chosen)).toEqual(['sense', 'registered']);
});

it.each(['/actions', '/nodes', '/docs'])('sends what is chosen on %s as it is shown', async (path) => {
  const page = await open(path);
  if (path === '/docs') await page.locator('summary', { hasText: '/v1/actions' }).first().click();
  await page.locator('option').nth(2).waitFor({ state: 'attached' });
  const read = `[...document.querySelectorAll('option')].filter((one) => one.value === '').map((one) => one.text)`;
  const unsent = await page.evaluate<string[]>(read);
  expect(unsent.filter((words) => words !== 'any' && words !== '–')).toEqual([]);
});

it('has a slider that stays where it is, whatever it shows', async () => {
  const paths = ['/actions', `/actions?as_of=${timeOf(40)}`, '/actions?as_of=ACTIONS:3', `/log?as_of=${timeOf(40)}`];
  for (const width of [400, 800, 1400]) {
    const boxes: unknown[] = [];
    const page = await open('/', width);
    for (const path of paths) {
      await go(page, path);
      const slider = page.getByLabel('Instant that is shown');
      await slider.waitFor();
      boxes.push(await slider.boundingBox());
    }
    expect(boxes).toEqual(boxes.map(() => boxes[0]));
  }
});

it('has the slider as soon as the log has an event, and asks for none that is not there', async () => {
  setLog('empty');
  onTestFinished(() => setLog('whole'));
  const page = await open('/nodes');
  const refused: string[] = [];
  page.on('response', (answer) => answer.ok() || answer.status() === 304 || refused.push(answer.url()));
  await go(page, '/actions');
  setLog('whole');
  tellAgainAndAgain();
  await page.getByLabel('Instant that is shown').waitFor();
  expect(refused).toEqual([]);
});

it('shows values of any length on a narrow screen without a scroll to the side', async () => {
  const paths = ['/actions', `/actions/${huge}`, '/nodes', `/nodes/${alpha}`, `/search?q=${long}`];
  const filters = ['creator', 'supernode', 'dataHash', 'cursor', 'as_of'].map((name) => `/actions?${name}=${long}`);
  const beyond = [];
  const page = await open('/', 400);
  for (const path of [...paths, ...filters]) {
    await go(page, path);
    beyond.push([path, await page.evaluate('document.documentElement.scrollWidth - innerWidth')]);
  }
  expect(beyond).toEqual(beyond.map(([path]) => [path, 0]));
});

it.each(['abc', '-1', '9'.repeat(16)])('shows no other block in place of %s', async (height) => {
  const page = await open(`/chain/blocks/${height}`);
  expect(await page.locator('main [role=alert]').textContent()).toBe('A block has a height, such as 1.');
});

it('leaves alone what somebody types while the page follows the read models', async () => {
  const page = await open('/actions');
  const creator = page.getByLabel('Creator');
  await creator.fill('lumera1half');
  await page.locator('select[name=state]').selectOption('approved');
  const again = page.waitForResponse((response) => response.url().includes('/v1/actions'));
  tellAgainAndAgain();
  await again;
  await shown(page);
  expect([await creator.inputValue(), await page.locator('select[name=state]').inputValue()]).toEqual([
    'lumera1half',
    'approved',
  ]);
  await page.goto(`${rest.url}/actions?creator=lumera1other`);
  await shown(page);
  expect(await creator.inputValue()).toBe('lumera1other');
});

it('requests the answers of another instant alone as the slider moves', async () => {
  const page = await open('/actions?as_of=2022-01-01T00:00:00Z');
  const received: string[] = [];
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.responseReceived', ({ response }) => {
    if (response.fromDiskCache !== true) received.push(new URL(response.url).pathname);
  });
  const slider = page.getByLabel('Instant that is shown');
  await slider.focus();
  for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowLeft']) {
    const before = page.url();
    await page.keyboard.press(key);
    await expect.poll(() => page.url()).not.toBe(before);
    await shown(page);
  }
  expect(new Set(received)).toEqual(new Set(['/v1/actions']));
});

// Each of an instant of its own, which nothing has read before.
it.each(['/actions?as_of=ACTIONS:4', '/nodes?as_of=ACTIONS:5', '/search?q=1&as_of=ACTIONS:6'])(
  'reads %s again by itself once the log is back, and says so',
  async (path) => {
    setLog('away');
    onTestFinished(() => setLog('whole'));
    const page = await open(path);
    await page.getByText(/Trying again in [248] s\./).waitFor();
    setLog('whole');
    await page.getByText('Trying again').waitFor({ state: 'detached' });
    await shown(page);
  },
);

it('shows an event by itself once a checkpoint is signed over it', async () => {
  setLog('unsigned');
  onTestFinished(() => setLog('whole'));
  const page = await open('/log/ACTIONS/1');
  await page.getByText(/no checkpoint is signed over it yet\. Trying again/).waitFor();
  setLog('whole');
  await page.getByText('ActionTold').waitFor();
  expect(await page.getByText('no checkpoint').count()).toBe(0);
});

it('does not read again what was refused for good', async () => {
  const page = await open('/actions?as_of=ACTIONS:999');
  expect(await page.locator('main [role=alert]').textContent()).not.toContain('Trying again');
});

it('is open as often as one likes, over one connection for the live events', async () => {
  const own = await browser.newContext();
  onTestFinished(() => own.close());
  const known = listening();
  const pages: Page[] = [];
  for (let n = 0; n < 8; n++) {
    const page = await own.newPage();
    await go(page, '/actions');
    pages.push(page);
  }
  await until('the live events are followed', () => newSince(known).length > 0);
  expect(newSince(known)).toHaveLength(1);
  const again = pages.map((page) => page.waitForRequest((request) => request.url().includes('/v1/actions?')));
  tell();
  await Promise.all(again);
});

it('shows what is answered slower than the read models advance', async () => {
  const page = await context.newPage();
  onTestFinished(() => page.close());
  await page.route('**/v1/actions?*', async (route) => {
    await pause(slowerThanAdvancesMs);
    await route.continue();
  });
  tellAgainAndAgain();
  await page.goto(`${rest.url}/actions`);
  await page.locator('main tbody tr').first().waitFor();
});

it('follows the live events again after they were refused', async () => {
  const page = await context.newPage();
  onTestFinished(() => page.close());
  // Requests of a page are refused here, those of a worker cannot be.
  await page.addInitScript('delete globalThis.SharedWorker');
  let refusals = 0;
  await page.route('**/live', async (route) => {
    refusals += 1;
    if (refusals === 1) await route.fulfill({ status: 503, body: '{}' });
    else await route.continue();
  });
  const known = listening();
  await page.goto(`${rest.url}/actions`);
  const isThere = () => newSince(known).length > 0;
  const again = page.waitForRequest((request) => request.url().includes('/v1/actions?') && isThere());
  await Promise.all([until('a listener is there', isThere), again]);
});

const browsing = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
const nowhere = ['/nothing', `/actions/${long}`, '/actions/%E0%A4%A', '/log/ACTIONS/0', `/${'x'.repeat(9000)}`];

it('answers a browser with a page where nothing lies, and a program with JSON', async () => {
  for (const path of nowhere) {
    const answers = [await rest.get(path, browsing), await rest.get(path)];
    const types = answers.map(({ headers }) => [headers.get('content-type'), headers.get('vary')]);
    expect(answers[0]?.status).toBe(answers[1]?.status);
    expect([path, ...types]).toEqual([
      path,
      ['text/html; charset=utf-8', 'Accept'],
      ['application/json; charset=utf-8', 'Accept'],
    ]);
  }
  for (const path of ['/v1/nothing', `/v1/actions/${long}`, '/v1/actions?limit=x'])
    expect([path, (await rest.get(path, browsing)).headers.get('content-type')]).toEqual([
      path,
      'application/json; charset=utf-8',
    ]);
});

it('shows in words that there is no such page', async () => {
  for (const path of ['/nothing', '/actions/%E0%A4%A'])
    expect(await (await open(path)).locator('h1').textContent()).toBe('No such page');
  const page = await open(`/actions/${long}`);
  expect(await page.locator('main [role=alert]').textContent()).toContain('no id is that long');
});

it.each([
  ['ACTIONS:6', 'as of ACTIONS:6'],
  ['2022-01-01T00:00:00Z', 'as of 1 Jan 2022 00:00:00 UTC'],
])('names the instant %s in the header', async (instant, words) => {
  const page = await open(`/actions?as_of=${instant}`);
  const shownWords = page.locator('.time .words');
  await shownWords.waitFor();
  expect(await shownWords.textContent()).toContain(words);
});

it('says that an answer is of now on the page alone that shows it', async () => {
  const page = await open('/log?as_of=ACTIONS:3');
  const ofNow = page.getByText('what is shown here is of now');
  expect(await ofNow.count()).toBe(1);
  await page.getByRole('link', { name: 'Actions' }).click();
  await page.waitForURL(/\/actions\?as_of=/);
  await shown(page);
  expect(await ofNow.count()).toBe(0);
});
