// @ts-check
/** @import { AboutAnswer, ActionCounts, ActionListing } from '../answers.d.ts' */
/** @import { ChainAnswer, FleetAnswer, NodePage, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { gist, number, typeName } from '../format.js';
import { useLiveEvents } from '../live.js';
import { useRead } from '../read.js';
import { link } from '../router.js';
import { Again, EntityLink, Json, Outcome, Sheet, State } from '../ui.js';
import { ActionTable } from './actions.js';
import { BlockTable } from './chain.js';
import { NodeTable } from './nodes.js';

const feedLength = 60;

/** The state of the instance in words. @param {{ about: AboutAnswer | undefined }} props */
function Health({ about }) {
  const ready = /** @type {ReadState<any>} */ (useRead('/readyz', { follow: true }));
  const word = ready.failure ? 'not ready' : 'ready';
  const notes = [...(ready.body?.warnings ?? [])].map(({ component, message }) => `${component}: ${message}`);
  return html`<div class="stack">
    <p>
      ${ready.body || ready.failure ? html`<${State} word=${word} />` : ''}
      ${about?.chain ? html` <span class="quiet">chain <b>${about.chain}</b></span>` : ''}
    </p>
    ${ready.failure ? html`<p class="bad">${ready.failure} <${Again} of=${ready} /></p>` : ''}
    ${notes.map((note) => html`<p class="wait">${note}</p>`)}
  </div>`;
}

function Tiles() {
  const stats = /** @type {ReadState<ActionCounts>} */ (useRead('/v1/actions/stats', { follow: true })).body;
  const fleet = /** @type {ReadState<FleetAnswer>} */ (useRead('/v1/supernodes/stats', { follow: true })).body;
  const tiles = /** @type {const} */ ([
    [stats?.total_actions, 'actions', '/actions', {}],
    [stats?.cascade_count, 'cascade', '/actions', { type: 'cascade' }],
    [stats?.sense_count, 'sense', '/actions', { type: 'sense' }],
    [stats?.registered_count, 'registered', '/actions', { state: 'registered' }],
    [stats?.finalized_count, 'finalized', '/actions', { state: 'finalized' }],
    [stats?.approved_count, 'approved', '/actions', { state: 'approved' }],
    [fleet?.available_count, `of ${number(fleet?.total_supernodes)} SuperNodes up`, '/nodes', {}],
  ]);
  return html`<section class="tiles" aria-label="Figures">
    ${tiles.map(
      ([value, name, to, query]) =>
        html`<a class="tile" href=${link(to, query)}><b>${number(value)}</b><span>${name}</span></a>`,
    )}
  </section>`;
}

function Feed() {
  const events = useLiveEvents(feedLength);
  return html`<${Sheet} title="Live events" note="as they are written to the log">
    ${events.length === 0 ? html`<p class="quiet">Waiting for the next event.</p>` : ''}
    <ul class="feed" tabindex="0" aria-label="Live events">
      ${events.map(
        (event) =>
          html`<li key=${event.id}>
            <span class="quiet mono">${event.time.slice(11, 19)}</span><span>${typeName(event.type)}</span>
            <span class="gist">
              <${EntityLink} event=${event} isShort=${true} />
              <span class="quiet"> ${gist(typeName(event.type), event.data)}</span>
            </span>
          </li>`,
      )}
    </ul>
  <//>`;
}

/** @param {{ about: AboutAnswer }} props */
function Subscribe({ about }) {
  const lines = [
    `curl ${location.origin}/v1/actions?limit=2`,
    ...(about.nats ? [`nats sub 'live.>' --server ${about.nats}`] : []),
    './annals tail evt.action.> --from start',
  ];
  return html`<${Sheet} title="Query, subscribe, replay" note="the README has more">
    <pre tabindex="0" role="region" aria-label="Commands">${lines.join('\n')}</pre>
    ${about.chainUrl ? html`<p class="quiet">Chain REST: <span class="mono">${about.chainUrl}</span></p>` : ''}
  <//>`;
}

export function Home() {
  const about = /** @type {ReadState<AboutAnswer>} */ (useRead('/about.json')).body;
  const actions = /** @type {ReadState<ActionListing>} */ (useRead('/v1/actions?limit=12', { follow: true }));
  const nodes = /** @type {ReadState<NodePage>} */ (useRead('/v1/supernodes/metrics?limit=12', { follow: true }));
  const chain = /** @type {ReadState<ChainAnswer>} */ (
    useRead(about?.chainUrl ? '/chain.json' : null, { follow: true })
  );
  return html`<article class="stack">
    <h1 class="hidden">Annals</h1>
    <${Health} about=${about} />
    <${Tiles} />
    <div class="columns">
      <${Sheet}
        title="Latest actions"
        note=${html`<a href=${link('/actions')}>${number(actions.body?.total)} in all</a>`}
      >
        <${Outcome} of=${actions}><${ActionTable} actions=${actions.body?.actions ?? []} /><//>
      <//>
      <${Sheet} title="SuperNodes" note=${html`<a href=${link('/nodes')}>${number(nodes.body?.total)} in all</a>`}>
        <${Outcome} of=${nodes}><${NodeTable} nodes=${nodes.body?.supernodes ?? []} /><//>
      <//>
      ${
        about?.chainUrl
          ? html`<${Sheet}
              title="Latest blocks"
              note=${html`<a href=${link('/chain')}>height ${number(chain.body?.height)}</a>`}
            >
              <${Outcome} of=${chain}><${BlockTable} chain=${chain.body} /><//>
            <//>`
          : ''
      }
      <${Feed} />
    </div>
    ${about ? html`<${Subscribe} about=${about} />` : ''}
    <${Json} paths=${['/v1/actions', '/v1/supernodes/metrics', '/v1/logs', '/readyz', '/openapi.json', '/metrics']} />
  </article>`;
}
