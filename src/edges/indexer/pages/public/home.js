import { html, render, useEffect, useState } from '/assets/htm-preact.js';
import { Blocks, Transactions } from '/assets/chain.js';
import { age, gist, number, short, tone } from '/assets/format.js';

const refreshMs = 5000;
/** A busy read model advances many times a second; the page reloads at most this often. */
const movedMs = 1000;
const feedLength = 60;

async function get(path) {
  const response = await fetch(path);
  return await response.json();
}

async function look() {
  const [about, ready, actions, stats, fleet, nodes] = await Promise.all(
    [
      '/about.json',
      '/readyz',
      '/v1/actions?limit=12',
      '/v1/actions/stats',
      '/v1/supernodes/stats',
      '/v1/supernodes/metrics?limit=12',
    ].map(get),
  );
  const chain = about.chainUrl ? await get('/chain.json').catch(() => null) : null;
  return { about, ready, actions, stats, fleet, nodes, chain };
}

function useLook(moved) {
  const [seen, setSeen] = useState(null);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    let current = true;
    const refresh = () =>
      look().then(
        (next) => current && (setSeen(next), setFailure('')),
        (error) => current && setFailure(String(error.message ?? error)),
      );
    const timer = setInterval(() => void refresh(), refreshMs);
    void refresh();
    return () => ((current = false), clearInterval(timer));
  }, [moved]);
  return { seen, failure };
}

/** The latest events, and how often a read model has advanced since the page was opened. */
function useFeed() {
  const [events, setEvents] = useState([]);
  const [moves, setMoves] = useState(0);
  useEffect(() => {
    const source = new EventSource('/live');
    let due;
    const tell = () => ((due = undefined), setMoves((before) => before + 1));
    source.addEventListener('moved', () => (due ??= setTimeout(tell, movedMs)));
    source.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data);
      setEvents((before) => [event, ...before].slice(0, feedLength));
    });
    return () => (clearTimeout(due), source.close());
  }, []);
  return { events, moves };
}

function Masthead({ about, ready }) {
  const word = ready.ready ? 'ready' : 'not ready';
  const notes = [
    ...(ready.reasons ?? []).map(({ component, message }) => `${component}: ${message}`),
    ...(ready.warnings ?? []).map((one) => one.message ?? one),
  ];
  return html`<header class="stack">
    <div class="masthead">
      <h1>Annals</h1>
      <span class="quiet">network <b>${about.network}</b>${about.chain ? html`, chain ${about.chain}` : ''}</span>
      <span class="chip ${tone(word)}">${word}</span>
      <nav>
        ${about.gatewayUrl ? html`<a href=${`${about.gatewayUrl}/transfers`}>Transfers</a>` : ''}
        <a href="/docs">API</a><a href="/openapi.json">OpenAPI</a><a href="/metrics">Metrics</a
        ><a href="/readyz">Readiness</a>
      </nav>
    </div>
    ${notes.map((note) => html`<p class="wait">${note}</p>`)}
  </header>`;
}

function Tiles({ stats, fleet }) {
  const tiles = [
    [stats.total_actions, 'actions'],
    [stats.cascade_count, 'cascade'],
    [stats.sense_count, 'sense'],
    [stats.finalized_count, 'finalized'],
    [stats.approved_count, 'approved'],
    [stats.expired_count, 'expired'],
    [fleet.available_count, `of ${number(fleet.total_supernodes)} SuperNodes up`],
  ];
  return html`<section class="tiles">
    ${tiles.map(([value, name]) => html`<div class="tile"><b>${number(value)}</b><span>${name}</span></div>`)}
  </section>`;
}

function Actions({ actions, total }) {
  return html`<section class="sheet">
    <h2>
      Latest actions <small>${number(total)} in all · <a href="/v1/actions?include_transactions=true">JSON</a></small>
    </h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>id</th>
            <th>type</th>
            <th>status</th>
            <th>data hash</th>
            <th class="number">created</th>
            <th class="number">finalized</th>
          </tr>
        </thead>
        <tbody>
          ${actions.map(
            (action) =>
              html`<tr>
                <td><a href="/v1/actions/${action.id}">${action.id}</a></td>
                <td>${action.type}</td>
                <td>
                  <span class=${tone(action.chain_state === 'expired' ? 'expired' : action.status)}
                    >${action.chain_state === 'expired' ? 'expired' : action.status}</span
                  >
                </td>
                <td class="mono">${action.data_hash ? `${action.data_hash.slice(0, 10)}…` : '–'}</td>
                <td class="number">${age(action.created_at)}</td>
                <td class="number">${age(action.finalized_at)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function Nodes({ supernodes, total }) {
  return html`<section class="sheet">
    <h2>
      SuperNodes <small>${number(total)} in all · <a href="/v1/supernodes/metrics">JSON</a></small>
    </h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>operator</th>
            <th>status</th>
            <th class="number">failed</th>
            <th class="number">rank</th>
            <th class="number">cpu %</th>
            <th>version</th>
            <th>ip</th>
          </tr>
        </thead>
        <tbody>
          ${supernodes.map(
            (node) =>
              html`<tr>
                <td class="mono"><a href="/v1/supernodes/${node.id}/metrics">${short(node.id)}</a></td>
                <td class=${tone(node.status)}>${node.status}</td>
                <td class="number">${number(node.failed_probe_counter)}</td>
                <td class="number">${number(node.rank)}</td>
                <td class="number">${number(node.cpu_usage_percent, 1)}</td>
                <td>${node.version ?? '–'}</td>
                <td class="mono">${node.ip}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function Feed({ events }) {
  return html`<section class="sheet">
    <h2>Live events <small>as they are written to the log</small></h2>
    ${events.length === 0 ? html`<p class="quiet">Waiting for the next event.</p>` : ''}
    <ul class="feed">
      ${events.map((event) => {
        const type = event.type.replace(/^annals\.|\.v1$/g, '');
        return html`<li key=${event.id}>
          <span class="quiet mono">${new Date(event.time).toLocaleTimeString('en-GB')}</span><span>${type}</span>
          <span class="gist"
            ><span class="mono">${short(event.subject)}</span>
            <span class="quiet">${gist(type, event.data)}</span></span
          >
        </li>`;
      })}
    </ul>
  </section>`;
}

function Subscribe({ about }) {
  const lines = [
    `curl ${location.origin}/v1/actions?limit=2`,
    ...(about.nats ? [`nats sub 'live.>' --server ${about.nats}`] : []),
    './annals tail evt.action.> --from start',
  ];
  return html`<section class="sheet stack">
    <h2>Ask, subscribe, replay <small>the README says more</small></h2>
    <pre>${lines.join('\n')}</pre>
    ${about.chainUrl ? html`<p class="quiet">Chain REST: <span class="mono">${about.chainUrl}</span></p>` : ''}
  </section>`;
}

function Home() {
  const { events, moves } = useFeed();
  const { seen, failure } = useLook(moves);
  if (!seen)
    return html`<main class="page">
      <h1>Annals</h1>
      <p class="quiet">${failure || 'Looking …'}</p>
    </main>`;
  return html`<main class="page">
    <${Masthead} ...${seen} />
    ${failure ? html`<p class="bad">${failure}</p>` : ''}
    <${Tiles} ...${seen} />
    <div class="columns">
      <${Actions} actions=${seen.actions.actions ?? []} total=${seen.actions.total} />
      <${Nodes} supernodes=${seen.nodes.supernodes ?? []} total=${seen.nodes.total} />
    </div>
    ${
      seen.chain
        ? html`<div class="columns">
            <${Blocks} chain=${seen.chain} chainUrl=${seen.about.chainUrl} />
            <${Transactions} chain=${seen.chain} chainUrl=${seen.about.chainUrl} />
          </div>`
        : ''
    }
    <${Feed} events=${events} />
    <${Subscribe} about=${seen.about} />
  </main>`;
}

const page = document.getElementById('page');
page.replaceChildren();
render(html`<${Home} />`, page);
