// @ts-check
/** @import { WithHeaders, LoggedEvent, LinkedEvent, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { gist, typeName } from '../format.js';
import { readNow, useAnswer } from '../read.js';
import { link } from '../router.js';
import { EntityLink, Json, Outcome, Table, Time } from '../ui.js';

const mostEffects = 50;

/** Where the events that an event caused are. @param {string} id */
const causesPath = (id) => `/v1/causes/${encodeURIComponent(id)}`;

/**
 * What an event followed from, and what followed from it.
 *
 * @typedef {{ causes: readonly LinkedEvent[], effects: readonly LinkedEvent[], hasMore: boolean }} Linked
 */

/**
 * Reads what an event followed from, and the first of what followed from it.
 *
 * @param {LoggedEvent} event
 * @returns {Promise<WithHeaders<Linked>>}
 */
async function readLinks({ id, causationid, correlationid }) {
  const known = [...new Set([causationid, correlationid])].filter((one) => one !== undefined);
  const [own, ...others] = await Promise.all([
    readNow(`${causesPath(id)}?limit=${mostEffects}`),
    ...known.map(async (one) => await readNow(`${causesPath(one)}?limit=1`)),
  ]);
  const causes = others.map(({ body }) => body.cause).filter(Boolean);
  const { headers, body } = own;
  return { headers, body: { causes, effects: body.events, hasMore: body.next_after !== null } };
}

/** @param {{ events: readonly LinkedEvent[], label: string, empty: string }} props */
function EventTable({ events, label, empty }) {
  return html`<${Table}
    label=${label}
    head=${['event', 'fact', 'entity', 'written', 'content']}
    rows=${events.map(({ stream, sequence, event }) => [
      html`<a class="mono" href=${link(`/log/${stream}/${sequence}`)}>${`${stream}:${sequence}`}</a>`,
      typeName(event.type),
      html`<${EntityLink} event=${event} isShort=${true} />`,
      html`<${Time} at=${event.time} isFull=${true} />`,
      html`<span class="quiet">${gist(typeName(event.type), event.data)}</span>`,
    ])}
    empty=${empty}
  />`;
}

/** What an event followed from, and what followed from it. @param {{ event: LoggedEvent }} props */
export function Links({ event }) {
  const answer = /** @type {ReadState<Linked>} */ (useAnswer(event.id, () => readLinks(event), { follow: true }));
  const links = answer.body;
  if (!links) return html`<${Outcome} of=${answer} />`;
  return html`<div class="stack">
    <h3>Caused by</h3>
    <${EventTable}
      events=${links.causes}
      label="Caused by"
      empty=${event.causationid ? `An event that is not kept: ${event.causationid}` : 'No other event is named as its cause.'}
    />
    <h3>What it caused</h3>
    <${EventTable} events=${links.effects} label="What it caused" empty="No event names it as its cause." />
    ${links.hasMore ? html`<p class="quiet">The first ${mostEffects} are shown.</p>` : ''}
    <${Json} paths=${[causesPath(event.id)]} />
  </div>`;
}
