import { html, render, useEffect, useState } from '/assets/htm-preact.js';
import { ask, dataHashOf, fileAddress, follow, send } from '/assets/task.js';

/** States of a usual upload and download, to have a length for the bar. */
const usual = { upload: 24, download: 12 };

function bytes(size) {
  if (size < 1024) return `${size} B`;
  return size < 1 << 20 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / (1 << 20)).toFixed(1)} MiB`;
}

function tone(status) {
  if (status === 'sdk:completed') return 'good';
  return status === 'sdk:failed' || status === 'sdk:supernodes_unavailable' ? 'bad' : '';
}

/** The most useful details of a state, for people. */
function gist(data) {
  return ['supernode', 'message', 'txhash', 'previous_error', 'error']
    .map((name) => data[name])
    .filter((value) => typeof value === 'string' && value !== '');
}

function States({ events }) {
  return html`<ol class="feed" aria-live="polite">
    ${events.toReversed().map(
      ({ id, status, data, created_at }) =>
        html`<li key=${id}>
          <span class="quiet mono">${created_at.slice(11, 19)}</span>
          <span class="mono ${tone(status)}">${status}</span>
          <span class="gist quiet" title=${gist(data).join(' ')}
            >${gist(data).map((one) => html`<span>${one}</span>`)}</span
          >
        </li>`,
    )}
  </ol>`;
}

/** How far a transfer is, 0 to 1, and what it does. */
function phaseOf({ direction, phase, share = 0, events, failure }) {
  const last = events.at(-1)?.status;
  if (failure) return { words: failure, tone: 'bad' };
  if (last === 'sdk:failed') return { words: events.at(-1).data.error ?? 'failed', tone: 'bad' };
  if (last === 'sdk:completed') return { words: direction === 'upload' ? 'stored' : 'fetched', tone: 'good', share: 1 };
  if (last) return { words: last, tone: 'wait', share: Math.min(events.length / usual[direction], 0.97) };
  return { words: `${phase} ${share > 0 ? `${Math.round(share * 100)} %` : ''}`, tone: 'wait', share };
}

function Transfer({ transfer, explorer, fetchBack }) {
  const { direction, name, size, action, task, events } = transfer;
  const { words, tone: shade, share } = phaseOf(transfer);
  const isDone = events.at(-1)?.status === 'sdk:completed';
  return html`<section class="sheet stack" aria-label=${`${direction} of ${name}`}>
    <h2>
      <span class="name">${direction === 'upload' ? '↑' : '↓'} ${name}</span>
      <small
        >${action && explorer ? html`<a href=${`${explorer}/actions/${action}`}>action ${action}</a>` : action ? `action ${action}` : ''}
        ${size === undefined ? '' : bytes(size)}</small
      >
    </h2>
    ${share === undefined ? '' : html`<progress max="1" value=${share}>${Math.round(share * 100)} %</progress>`}
    <div class="row">
      <span class=${shade}>${words}</span>
      ${isDone && direction === 'upload' ? html`<button onClick=${fetchBack}>Fetch it back</button>` : ''}
      ${isDone && direction === 'download' ? html`<a class="button" href=${fileAddress(task)}>Save the file</a>` : ''}
    </div>
    ${events.length > 0 ? html`<${States} events=${events} />` : ''}
  </section>`;
}

function Store({ isLocal, store }) {
  const [isOver, setOver] = useState(false);
  const [isPublic, setPublic] = useState(true);
  const [given, setGiven] = useState({ action_id: '', signature: '' });
  const take = (files) => {
    setOver(false);
    for (const file of files) store(file, isLocal ? { isPublic } : given);
  };
  const on = (value) => (event) => (event.preventDefault(), setOver(value));
  const field = (name, words) =>
    html`<label
      ><span>${words}</span>
      <input value=${given[name]} onInput=${({ target }) => setGiven({ ...given, [name]: target.value.trim() })} />
    </label>`;
  return html`<section class="sheet stack">
    <h2>Store a file</h2>
    ${
      isLocal
        ? html`<p class="quiet">
              The page registers it as a development account of the local network, whose key everybody knows.
            </p>
            <label class="check"
              ><input type="checkbox" checked=${isPublic} onChange=${({ target }) => setPublic(target.checked)} />
              Everybody may fetch it</label
            >`
        : html`<p class="quiet">The file must be registered on the chain; its creator signs the data hash.</p>
            <div class="row">
              ${field('action_id', 'Action')} ${field('signature', 'Signature over the data hash')}
            </div>`
    }
    <label
      class=${`drop ${isOver ? 'over' : ''}`}
      onDragOver=${on(true)}
      onDragLeave=${on(false)}
      onDrop=${(event) => (event.preventDefault(), take(event.dataTransfer.files))}
    >
      <b>Drop a file here</b>
      <span class="quiet">or choose one</span>
      <input type="file" multiple=${isLocal} onChange=${({ target }) => (take(target.files), (target.value = ''))} />
    </label>
  </section>`;
}

function Fetch({ isLocal, get }) {
  const [action, setAction] = useState(new URLSearchParams(location.search).get('action') ?? '');
  const [signature, setSignature] = useState('');
  const submit = (event) => (event.preventDefault(), get(action, { signature }));
  return html`<section class="sheet stack">
    <h2>Fetch a file</h2>
    <p class="quiet">
      ${isLocal ? 'Public files, and what this page stored.' : 'A private file takes its creator’s signature over the id.'}
    </p>
    <form class="row" onSubmit=${submit}>
      <label
        ><span>Action</span
        ><input required pattern="[0-9]+" value=${action} onInput=${({ target }) => setAction(target.value.trim())}
      /></label>
      ${
        isLocal
          ? ''
          : html`<label
              ><span>Signature, for a private file</span
              ><input value=${signature} onInput=${({ target }) => setSignature(target.value.trim())}
            /></label>`
      }
      <button>Fetch</button>
    </form>
  </section>`;
}

/** Transfers of this page, newest first, and the function that starts one. */
function useTransfers(isLocal) {
  const [transfers, setTransfers] = useState([]);
  const begin = (first, work) => {
    const key = crypto.randomUUID();
    const change = (changed) =>
      setTransfers((before) => before.map((one) => (one.key === key ? { ...one, ...changed(one) } : one)));
    const watch = (task) =>
      follow(first.direction, task, (event) => change(({ events }) => ({ events: [...events, event] })));
    setTransfers((before) => [{ key, events: [], ...first }, ...before]);
    const phase = (words) => (share) => change(() => ({ phase: words, share }));
    work({ change, watch, phase }).catch((error) => change(() => ({ failure: error.message })));
  };
  const store = (file, { isPublic, ...given }) =>
    begin({ direction: 'upload', name: file.name, size: file.size, phase: 'reading' }, async (shown) => {
      let asked = given;
      if (isLocal) {
        const data_hash = await dataHashOf(file, shown.phase('reading'));
        shown.phase('registering')(0);
        asked = await ask('/transfers/registrations', {
          data_hash,
          file_name: file.name,
          size: file.size,
          public: isPublic,
        });
      }
      shown.change(() => ({ action: asked.action_id }));
      const task = await send(file, asked, shown.phase('sending'));
      shown.change(() => ({ task }));
      await shown.watch(task);
    });
  const get = (action, { name = `file of action ${action}`, size, signature }) =>
    begin({ direction: 'download', name, size, action, phase: 'asking' }, async (shown) => {
      const own = isLocal ? (await ask('/transfers/signatures', { action_id: action })).signature : signature;
      const path = `/api/v1/actions/cascade/${encodeURIComponent(action)}/downloads${own ? '' : '?public=true'}`;
      const { task_id: task } = await ask(path, own ? { signature: own } : {});
      shown.change(() => ({ task }));
      await shown.watch(task);
    });
  return { transfers, store, get };
}

function Page({ isLocal, explorer }) {
  const { transfers, store, get } = useTransfers(isLocal);
  return html`<main class="page">
    <header class="masthead">
      <h1><a href="/transfers">Annals</a></h1>
      <span class="quiet">transfers</span>
      <nav>
        ${explorer ? html`<a href=${`${explorer}/transfers`}>Explorer</a>` : ''}<a href="/docs">API</a
        ><a href="/openapi.json">openapi.json</a>
      </nav>
    </header>
    <div class="columns">
      <${Store} isLocal=${isLocal} store=${store} />
      <${Fetch} isLocal=${isLocal} get=${get} />
    </div>
    ${transfers.map(
      (transfer) =>
        html`<${Transfer}
          key=${transfer.key}
          transfer=${transfer}
          explorer=${explorer}
          fetchBack=${() => get(transfer.action, transfer)}
        />`,
    )}
  </main>`;
}

function Transfers() {
  const [about, setAbout] = useState(null);
  const [failure, setFailure] = useState('');
  useEffect(() => void ask('/transfers/about.json').then(setAbout, (error) => setFailure(error.message)), []);
  if (failure) return html`<main class="page"><p class="bad" role="alert">${failure}</p></main>`;
  if (!about) return html`<main class="page"><p class="quiet">Looking …</p></main>`;
  return html`<${Page} isLocal=${about.is_local} explorer=${about.explorer_url} />`;
}

const page = document.getElementById('page');
page.replaceChildren();
render(html`<${Transfers} />`, page);
