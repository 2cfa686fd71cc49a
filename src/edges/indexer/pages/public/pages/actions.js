// @ts-check
/** @import { ActionItem, ActionListing, PageProps, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { number, start } from '../format.js';
import { useRead } from '../read.js';
import { go, link } from '../router.js';
import { Json, Outcome, Sheet, State, Table, textOf, Time } from '../ui.js';

const pageLength = 50;
const filters = /** @type {const} */ (['type', 'state', 'creator', 'supernode', 'dataHash', 'fromHeight', 'toHeight']);

/** @param {{ actions: readonly ActionItem[] }} props */
export function ActionTable({ actions }) {
  return html`<${Table}
    label="Actions"
    head=${['id', 'type', 'status', 'data hash', { name: 'created', isNumber: true }, { name: 'finalized', isNumber: true }]}
    rows=${actions.map((action) => [
      html`<a href=${link(`/actions/${action.id}`)}>${action.id}</a>`,
      action.type,
      html`<${State} word=${action.chain_state === 'expired' ? 'expired' : action.status} />`,
      html`<span class="mono" title=${action.data_hash ?? ''}>${start(action.data_hash)}</span>`,
      html`<${Time} at=${action.created_at} />`,
      html`<${Time} at=${action.finalized_at} />`,
    ])}
    empty="No action fits."
  />`;
}

/** @param {{ query: URLSearchParams }} props */
function Filters({ query }) {
  /** @param {SubmitEvent} event */
  const apply = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    go(link('/actions', Object.fromEntries(filters.map((name) => [name, textOf(form, name)]))));
  };
  /** @param {string} name @param {string} words @param {readonly string[]} options */
  const choice = (name, words, options) =>
    html`<label
      ><span>${words}</span>
      <select name=${name} key=${query.get(name) ?? ''}>
        <option value="">any</option>
        ${options.map((one) => html`<option value=${one} selected=${query.get(name) === one}>${one}</option>`)}
      </select></label
    >`;
  /** @param {string} name @param {string} words @param {object} [more] */
  const field = (name, words, more = {}) => {
    // As a default it leaves what somebody types alone, however often the page reads again.
    const value = query.get(name) ?? '';
    return html`<label
      ><span>${words}</span><input name=${name} key=${value} defaultValue=${value} ...${more}
    /></label>`;
  };
  return html`<form class="filters" action="/actions" onSubmit=${apply} aria-label="Filters">
    ${choice('type', 'Type', ['cascade', 'sense'])}
    ${choice('state', 'Status', ['registered', 'finalized', 'approved'])} ${field('creator', 'Creator')}
    ${field('supernode', 'SuperNode')} ${field('dataHash', 'Data hash')}
    ${field('fromHeight', 'From height', { inputmode: 'numeric', pattern: '[0-9]*' })}
    ${field('toHeight', 'To height', { inputmode: 'numeric', pattern: '[0-9]*' })}
    <button>Filter</button>
  </form>`;
}

/** @param {PageProps} props */
export function Actions({ query }) {
  const wanted = new URLSearchParams({ limit: String(pageLength) });
  for (const name of [...filters, 'cursor']) {
    const value = query.get(name);
    if (value) wanted.set(name, value);
  }
  const path = `/v1/actions?${wanted}`;
  const page = /** @type {ReadState<ActionListing>} */ (useRead(path, { follow: !query.has('cursor') }));
  const chosen = Object.fromEntries(filters.map((name) => [name, query.get(name) ?? '']));
  const { body } = page;
  return html`<article class="stack">
    <h1>Actions</h1>
    <${Sheet}
      title=${html`<span role="status">${number(body?.total)} ${body?.total === 1 ? 'action' : 'actions'}</span>`}
      label="Actions"
      note=${body ? `page ${body.page} of ${number(Math.max(1, Math.ceil(body.total / pageLength)))}` : ''}
    >
      <${Filters} query=${query} />
      <${Outcome} of=${page}>
        <${ActionTable} actions=${body?.actions ?? []} />
        <p class="pager">
          ${query.has('cursor') ? html`<a href=${link('/actions', chosen)}>First page</a>` : ''}
          ${body?.cursor ? html`<a rel="next" href=${link('/actions', { ...chosen, cursor: body.cursor })}>Next page</a>` : ''}
        </p>
      <//>
      <${Json} paths=${[path]} />
    <//>
  </article>`;
}
