// @ts-check
/** @import { ActionListing, NodeAnswer, PageProps, PaymentsAnswer, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { coins, counted, number } from '../format.js';
import { useRead } from '../read.js';
import { asOf, link } from '../router.js';
import { Facts, Json, Outcome, Sheet, State, Time } from '../ui.js';
import { Uptime } from '../uptime.js';
import { ActionTable } from './actions.js';
import { stateOf } from './nodes.js';

/** @param {{ node: NodeAnswer }} props */
function Record({ node }) {
  const gigabytes = (/** @type {number | null} */ used, /** @type {number | null} */ total) =>
    total === null ? '–' : `${number(used, 1)} of ${number(total, 1)} GB`;
  return html`<${Facts}
    of=${[
      ['probes', html`<${State} word=${stateOf(node)} />`],
      ['state on the chain', node.current_state],
      ['failed in a row', number(node.failed_probe_counter)],
      ['last seen', html`<${Time} at=${node.last_seen_at} isFull=${true} />`],
      ['probed', html`<${Time} at=${node.probed_at} isFull=${true} />`],
      ['address', html`<span class="mono">${node.ip}</span>`],
      ['rank', number(node.rank)],
      ['version', node.version],
      ['services', node.registered_services.join(', ') || '–'],
      ['peers', number(node.peer_count)],
      [
        'cpu',
        node.cpu_cores === null ? '–' : `${number(node.cpu_usage_percent, 1)} % of ${number(node.cpu_cores)} cores`,
      ],
      ['memory', gigabytes(node.memory_used_gb, node.memory_total_gb)],
      ['storage', gigabytes(node.storage_used_gb, node.storage_total_gb)],
    ]}
  />`;
}

/** @param {PageProps} props */
export function Node({ parts: { id = '' } }) {
  const path = `/v1/supernodes/${encodeURIComponent(id)}`;
  const node = /** @type {ReadState<NodeAnswer>} */ (useRead(`${path}/metrics`, { follow: true }));
  const payments = /** @type {ReadState<PaymentsAnswer>} */ (useRead(`${path}/paymentInfo`, { follow: true }));
  const listed = `/v1/actions?limit=20&supernode=${encodeURIComponent(id)}`;
  const actions = /** @type {ReadState<ActionListing>} */ (useRead(node.body ? listed : null, { follow: true }));
  const paid = payments.body?.payments ?? [];
  return html`<article class="stack">
    <h1>SuperNode <span class="mono long">${id}</span></h1>
    <${Outcome} of=${node}>
      <div class="columns">
        <${Sheet} title="Now" label="Figures">${node.body ? html`<${Record} node=${node.body} />` : ''}<//>
        <${Sheet} title="Payments">
          ${paid.length === 0 ? html`<p class="quiet">It was paid nothing yet.</p>` : ''}
          <${Facts}
            of=${paid.map(({ denom, total_amount: total, payment_count: count }) => [
              denom === 'ulume' ? 'LUME' : denom,
              `${denom === 'ulume' ? coins(total, 6) : total} in ${counted(count, 'transaction')}`,
            ])}
          />
        <//>
      </div>
      ${
        node.body && asOf() === ''
          ? html`<${Uptime} id=${id} />`
          : html`<p class="quiet">
              Availability and incidents are counted up to now only: go back to now to see them.
            </p>`
      }
      <${Sheet}
        title="Actions that it finalized"
        note=${html`<a href=${link('/actions', { supernode: id })}>${number(actions.body?.total)} in all</a>`}
      >
        <${Outcome} of=${actions}><${ActionTable} actions=${actions.body?.actions ?? []} /><//>
      <//>
    <//>
    <${Json} paths=${[`${path}/metrics`, `${path}/paymentInfo`, listed]} />
  </article>`;
}
