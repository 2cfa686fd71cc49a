import type { Page } from 'playwright-core';
import { openBrowser } from '../../test/support/programs/browser.ts';
import type { Context } from '../context.ts';
import { median } from '../rounds.ts';
import type { Figures } from '../row.ts';

/** How long a person waits for a page of the explorer, in milliseconds until what was asked for is painted. */
export type ExplorerTimes = Readonly<{ first: number[]; step: number[]; filter: number[]; next: number[] }>;

/**
 * Watches for what is shown: the total and the first row. `shown` resolves once they are others than before, nothing
 * is on its way, and the browser has painted them.
 */
const watching = `
  const words = () => {
    const busy = document.querySelector('main [aria-busy]')?.getAttribute('aria-busy');
    const row = document.querySelector('main tbody tr td a')?.textContent;
    const total = document.querySelector('main h2 [role=status]')?.textContent;
    return busy === 'false' && row ? total + ' ' + row : undefined;
  };
  const painted = (resolve) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now());
    channel.port2.postMessage(0);
  });
  globalThis.shown = (before) => new Promise((resolve) => {
    const look = () => {
      const now = words();
      if (now === undefined || now === before) return false;
      observer.disconnect();
      painted(resolve);
      return true;
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { attributes: true, childList: true, subtree: true, characterData: true });
    look();
  });
  globalThis.watch = () => void (globalThis.seen = globalThis.shown(words()));
  for (const name of ['input', 'click', 'change'])
    document.addEventListener(name, ({ timeStamp }) => void (globalThis.begun = timeStamp), true);
  globalThis.first = globalThis.shown();
`;

/** Some instants on, where each step of the slider shows other actions. */
const instant = '2024-06-01T00:00:00Z';
const filters = ['type=sense', 'type=cascade', 'state=registered', 'state=finalized', 'state=approved'] as const;

/** Opens the list of actions in a real browser: afresh, as of other instants, by other filters, page by page. */
export async function exploreActions(context: Context, url: string): Promise<ExplorerTimes> {
  const browser = await openBrowser();
  context.defer(() => browser.close());
  const times: ExplorerTimes = { first: [], step: [], filter: [], next: [] };
  const turns = context.size(12, 2);
  for (let round = 0; round < context.rounds; round += 1) {
    const fresh = await browser.newContext();
    const page = await fresh.newPage();
    await page.addInitScript(watching);
    await page.goto(`${url}/actions`, { waitUntil: 'commit' });
    times.first.push(await page.evaluate<number>('first'));
    for (let turn = 0; turn < turns; turn += 1)
      times.next.push(await timed(page, () => page.getByRole('link', { name: 'Next page' }).click()));
    for (let turn = 0; turn < turns; turn += 1)
      times.filter.push(await timed(page, () => choose(page, filters[turn % filters.length] ?? '')));
    await page.goto(`${url}/actions?as_of=${instant}`);
    await page.evaluate('first');
    await page.getByLabel('Instant that is shown').focus();
    for (let turn = 0; turn < turns; turn += 1)
      times.step.push(await timed(page, () => page.keyboard.press('ArrowLeft')));
    await fresh.close();
  }
  await browser.close();
  return times;
}

async function timed(page: Page, act: () => Promise<void>): Promise<number> {
  await page.evaluate('watch()');
  await act();
  return await page.evaluate<number>('seen.then((at) => at - begun)');
}

async function choose(page: Page, filter: string): Promise<void> {
  const chosen = new URLSearchParams(filter);
  for (const name of ['type', 'state']) await page.locator(`select[name=${name}]`).selectOption(chosen.get(name) ?? '');
  await page.getByRole('button', { name: 'Filter' }).click();
}

/** The median of some times, with the slowest and what else took time. */
export function figuresOf(times: readonly number[], others: Readonly<Record<string, readonly number[]>> = {}): Figures {
  const shown = (all: readonly number[]): string => `${Math.round(median(all))} to ${Math.round(Math.max(...all))}`;
  const rest = Object.entries(others).map(([name, all]) => `${name} ${shown(all)}`);
  return {
    ours: median(times),
    peer: null,
    ratio: null,
    note: [`median to slowest ${shown(times)}`, ...rest].join(', '),
  };
}
