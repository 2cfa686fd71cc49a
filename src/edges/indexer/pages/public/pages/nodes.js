// @ts-check
/** @import { WithHeaders, FleetAnswer, NodeAnswer, NodePage, PageProps, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { counted, number, short } from '../format.js';
import { read, useAnswer, useRead } from '../read.js';
import { asOf, go, link } from '../router.js';
import { Strip } from '../uptime.js';
import { Json, NodeLink, Outcome, Sheet, State, Table, Time } from '../ui.js';

const pageLength = 200;
const mostPages = 10;

/** The state of a node in one word. @param {NodeAnswer} node */
export function stateOf(node) {
  return node.status === 'available' ? 'up' : node.probed_at === null ? 'not probed' : 'down';
}

/** @param {{ nodes: readonly NodeAnswer[] }} props */
export function NodeTable({ nodes }) {
  const count = (/** @type {string} */ name) => ({ name, isNumber: true });
  return html`<${Table}
    label="SuperNodes"
    head=${['operator', 'probes', 'on the chain', count('failed'), count('rank'), count('cpu %'), 'version']}
    rows=${nodes.map((node) => [
      html`<${NodeLink} id=${node.id} />`,
      html`<${State} word=${stateOf(node)} />`,
      node.current_state,
      number(node.failed_probe_counter),
      number(node.rank),
      number(node.cpu_usage_percent, 1),
      node.version ?? '–',
    ])}
    empty="No SuperNode fits."
  />`;
}

/** All nodes that fit, page by page. @param {URLSearchParams} wanted @returns {Promise<WithHeaders<NodePage>>} */
async function readAll(wanted) {
  const first = /** @type {WithHeaders<NodePage>} */ (await read(`/v1/supernodes/metrics?${wanted}`));
  let last = first.body;
  const supernodes = [...last.supernodes];
  for (let page = 1; last.cursor !== undefined && page < mostPages; page += 1) {
    const cursor = encodeURIComponent(last.cursor);
    ({ body: last } = /** @type {WithHeaders<NodePage>} */ (
      await read(`/v1/supernodes/metrics?${wanted}&cursor=${cursor}`)
    ));
    supernodes.push(...last.supernodes);
  }
  return { ...first, body: { supernodes, total: first.body.total } };
}

/** @param {{ node: NodeAnswer }} props */
function Card({ node }) {
  return html`<li class="card">
    <h3>
      <a class="mono" href=${link(`/nodes/${node.id}`)} title=${node.id}>${short(node.id)}</a>
      <${State} word=${stateOf(node)} />
    </h3>
    <p class="quiet">
      ${node.current_state}${node.rank === null ? '' : `, rank ${node.rank}`}, ${node.version ?? 'version unknown'}
    </p>
    <p class="quiet">
      ${
        stateOf(node) === 'up'
          ? html`cpu ${number(node.cpu_usage_percent, 0)} %, ${counted(node.peer_count, 'peer')}`
          : html`${number(node.failed_probe_counter)} failed in a row,${' '}
            ${node.last_seen_at === null ? 'never seen' : html`seen <${Time} at=${node.last_seen_at} />`}`
      }
    </p>
    ${asOf() === '' ? html`<${Strip} id=${node.id} />` : ''}
  </li>`;
}

/** @param {PageProps} props */
export function Nodes({ query }) {
  const wanted = new URLSearchParams({ limit: String(pageLength) });
  for (const name of ['status', 'currentState', 'version']) {
    const value = query.get(name);
    if (value) wanted.set(name, value);
  }
  const path = `/v1/supernodes/metrics?${wanted}`;
  const nodes = /** @type {ReadState<NodePage>} */ (
    useAnswer(`${path} ${asOf()}`, () => readAll(wanted), { follow: true })
  );
  const fleet = /** @type {ReadState<FleetAnswer>} */ (useRead('/v1/supernodes/stats', { follow: true })).body;
  const list = nodes.body?.supernodes ?? [];
  /** @param {Event} event */
  const choose = (event) => go(link('/nodes', { status: /** @type {HTMLSelectElement} */ (event.target).value }));
  return html`<article class="stack">
    <h1>SuperNodes</h1>
    <${Sheet}
      label="SuperNodes"
      title=${html`<span role="status">${fleet ? `${number(fleet.available_count)} of ${number(fleet.total_supernodes)} are up` : '–'}</span>`}
      note=${fleet ? `${number(fleet.total_storage_tb, 1)} TB, ${number(fleet.total_memory_gb)} GB of memory` : ''}
    >
      <form class="filters" action="/nodes">
        <label
          ><span>Probes</span>
          <select name="status" onChange=${choose}>
            <option value="">any</option>
            ${[
              ['available', 'up'],
              ['unavailable', 'down'],
            ].map(
              ([value, words]) =>
                html`<option value=${value} selected=${query.get('status') === value}>${words}</option>`,
            )}
          </select></label
        >
      </form>
      <${Outcome} of=${nodes}>
        <ul class="grid">
          ${list.map((node) => html`<${Card} key=${node.id} node=${node} />`)}
        </ul>
        ${nodes.body && nodes.body.total > list.length ? html`<p class="wait">${number(nodes.body.total - list.length)} more are not shown.</p>` : ''}
      <//>
      <${Json} paths=${[path, '/v1/supernodes/stats']} />
    <//>
  </article>`;
}
