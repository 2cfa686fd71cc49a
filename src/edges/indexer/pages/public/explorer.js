// @ts-check
/** @import { AboutAnswer } from './answers.d.ts' */
import { html, render, useEffect, useRef } from '/assets/htm-preact.js';
import { pages } from './pages/all.js';
import { useRead } from './read.js';
import { followLinks, go, link, partsOf, useAddress } from './router.js';
import { TimeSlider } from './time.js';
import { textOf } from './ui.js';

/** @param {string} path */
function pageAt(path) {
  for (const [pattern, title, show] of pages) {
    const parts = partsOf(pattern, path);
    if (parts) return { title: title.replace(/:([a-z]+)/g, (_match, name) => parts[name] ?? ''), show, parts };
  }
  return undefined;
}

const menu = [
  ['/actions', 'Actions'],
  ['/nodes', 'SuperNodes'],
  ['/chain', 'Chain'],
  ['/log', 'Log'],
  ['/models', 'Read models'],
  ['/transfers', 'Transfers'],
  ['/verify', 'Verify'],
];

/** @param {{ path: string }} props */
function Masthead({ path }) {
  const about = /** @type {import('./answers.d.ts').ReadState<AboutAnswer>} */ (useRead('/about.json')).body;
  /** @param {SubmitEvent} event */
  const search = (event) => {
    event.preventDefault();
    const text = textOf(new FormData(/** @type {HTMLFormElement} */ (event.target)), 'q');
    if (text !== '') go(link('/search', { q: text }));
  };
  const shown = menu.filter(
    ([to]) => (to !== '/chain' && to !== '/transfers') || !about || about.hasEvm || about.gatewayUrl,
  );
  return html`<header class="masthead">
    <p class="name"><a href=${link('/')}>Annals</a></p>
    <span class="quiet">${about ? html`network <b>${about.network}</b>` : ''}</span>
    <form class="search" role="search" action="/search" onSubmit=${search}>
      <label class="hidden" for="q">Search</label>
      <input
        id="q"
        name="q"
        type="search"
        autocomplete="off"
        spellcheck="false"
        placeholder="Action, node, account, hash, height, ACTIONS:1"
      />
      <button>Search</button>
    </form>
    <nav aria-label="Pages">
      ${shown.map(
        ([to = '', name]) =>
          html`<a href=${link(to)} aria-current=${path === to || path.startsWith(`${to}/`) ? 'page' : undefined}
            >${name}</a
          >`,
      )}
      <a href="/docs">API</a>
    </nav>
    <${TimeSlider} />
  </header>`;
}

function Explorer() {
  const { path, search } = useAddress();
  const page = pageAt(path);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const before = useRef(path);
  useEffect(() => {
    const title = page?.title ?? 'No such page';
    document.title = title === 'Annals' ? title : `${title} · Annals`;
    if (before.current !== path) heading.current?.focus();
    before.current = path;
  }, [path]);
  return html`<a class="skip" href="#main">Skip to the page</a>
    <div class="page">
      <${Masthead} path=${path} />
      <main id="main" class="stack" ref=${heading} tabindex="-1">
        ${
          page
            ? html`<${page.show} key=${path} parts=${page.parts} query=${new URLSearchParams(search)} />`
            : html`<h1>No such page</h1>
                <p>Nothing lies at <span class="mono long">${path}</span>; the search finds what there is.</p>`
        }
      </main>
    </div>`;
}

const root = document.getElementById('page');
root?.replaceChildren();
followLinks((path) => pageAt(path) !== undefined);
if (root) render(html`<${Explorer} />`, root);
