// @ts-check
/** @import { AboutAnswer, ReadState, TransfersAnswer } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { number } from '../format.js';
import { useRead } from '../read.js';
import { link } from '../router.js';
import { Json, Outcome, Sheet, State, Table, Time } from '../ui.js';

/** @param {{ transfers: TransfersAnswer }} props */
export function TransferTable({ transfers }) {
  const rows = /** @type {const} */ (['uploads', 'downloads']).flatMap((direction) =>
    transfers[direction].requests.map((one) => ({ ...one, direction })),
  );
  return html`<${Table}
    label="Transfers"
    head=${['direction', 'action', 'file', 'state', { name: 'size', isNumber: true }, { name: 'started', isNumber: true }]}
    rows=${rows
      .toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
      .map((one) => [
        one.direction === 'uploads' ? '↑ upload' : '↓ download',
        html`<a href=${link(`/actions/${one.action_id}`)}>${one.action_id}</a>`,
        one.file_name ?? '–',
        html`<${State} word=${one.status} />`,
        one.file_size_kbs === null ? '–' : `${number(one.file_size_kbs)} KiB`,
        html`<${Time} at=${one.created_at} />`,
      ])}
    empty="No file was moved yet."
  />`;
}

export function Transfers() {
  const about = /** @type {ReadState<AboutAnswer>} */ (useRead('/about.json')).body;
  const transfers = /** @type {ReadState<TransfersAnswer>} */ (
    useRead(about?.gatewayUrl ? '/transfers.json' : null, { follow: true })
  );
  if (about && !about.gatewayUrl)
    return html`<article class="stack">
      <h1>Transfers</h1>
      <p>The gateway of this network has a page of its own, at <span class="mono">/transfers</span> of its address.</p>
    </article>`;
  return html`<article class="stack">
    <h1>Transfers</h1>
    <${Sheet}
      title="Latest transfers"
      note=${html`<a href=${`${about?.gatewayUrl ?? ''}/transfers`}>store or fetch a file</a>`}
    >
      <${Outcome} of=${transfers}>${transfers.body ? html`<${TransferTable} transfers=${transfers.body} />` : ''}<//>
    <//>
    <${Json} paths=${['/transfers.json']} />
  </article>`;
}
