// @ts-check
/** @import { LogsAnswer, PageProps, ReadState } from '../answers.d.ts' */
import { html, useEffect, useState } from '/assets/htm-preact.js';
import { checkProof, sha256 } from '/assets/verify.js';
import { number } from '../format.js';
import { useRead } from '../read.js';
import { Json, Sheet } from '../ui.js';

/** What is checked. @typedef {{ event: string, proof: string, vkey: string }} Pasted */
/** @typedef {{ isSound: boolean, words: string }} Verdict */

/** Checks what was pasted, with nothing of the server. @param {Pasted} pasted @returns {Promise<Verdict>} */
async function check({ event, proof, vkey }) {
  // A pasted text may have gained a line break at its end, which the event does not have.
  const bytes = new TextEncoder().encode(event.replace(/\r?\n$/, ''));
  try {
    const { origin, index, size } = await checkProof(proof.endsWith('\n') ? proof : `${proof}\n`, bytes, vkey);
    const words = `The log ${origin} has this event at sequence ${number(index + 1)}, of ${number(size)}.`;
    return { isSound: true, words };
  } catch (error) {
    const hash = Array.from(await sha256(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
    const reason = error instanceof Error ? error.message : String(error);
    return { isSound: false, words: `${reason} The event’s SHA-256 is ${hash}.` };
  }
}

/**
 * The texts of an event of this instance, such as `ACTIONS:1`.
 *
 * @param {string} position
 * @returns {Promise<Pasted>}
 */
async function textsOf(position) {
  const [stream = '', sequence = ''] = position.trim().split(/[:/\s]+/);
  const [event = '', proof = '', vkey = ''] = await Promise.all(
    [`events/${sequence}`, `proofs/${sequence}`, 'vkey'].map(async (path) => {
      const response = await fetch(`/log/${stream.toUpperCase()}/${path}`);
      const body = await response.text();
      if (!response.ok) throw new Error(JSON.parse(body).error);
      return body;
    }),
  );
  return { event, proof, vkey };
}

/**
 * Fills the form from an event of this instance.
 *
 * @param {{ first: string, onTexts: (texts: Pasted) => void }} props
 */
function Fill({ first, onTexts }) {
  const logs = /** @type {ReadState<LogsAnswer>} */ (useRead('/v1/logs')).body?.logs ?? [];
  const [position, setPosition] = useState(first);
  const [failure, setFailure] = useState('');
  const fill = () =>
    textsOf(position).then(
      (texts) => (setFailure(''), onTexts(texts)),
      (error) => setFailure(error.message),
    );
  useEffect(() => {
    if (first !== '') void fill();
  }, []);
  return html`<form
    class="filters"
    aria-label="Event of this instance"
    onSubmit=${(/** @type {SubmitEvent} */ event) => (event.preventDefault(), void fill())}
  >
    <label>
      <span>An event of this instance</span>
      <input
        placeholder="ACTIONS:1"
        list="streams"
        value=${position}
        onInput=${(/** @type {any} */ { target }) => setPosition(target.value)}
      />
    </label>
    <datalist id="streams">${logs.map(({ stream }) => html`<option value=${`${stream}:1`}></option>`)}</datalist>
    <button>Fill in</button>
    ${failure ? html`<p class="bad" role="alert">${failure}</p>` : ''}
  </form>`;
}

const areas = /** @type {const} */ ([
  ['event', 'Event, byte for byte', 6],
  ['proof', 'Proof (c2sp.org/tlog-proof)', 8],
  ['vkey', 'Key of the log', 2],
]);

/** Checks an event, its proof and the key of its log in the browser. @param {PageProps} props */
export function Verify({ query }) {
  const [pasted, setPasted] = useState({ event: '', proof: '', vkey: '' });
  const [verdict, setVerdict] = useState(/** @type {Verdict | undefined} */ (undefined));
  /** @param {Pasted} texts */
  const change = (texts) => (setPasted(texts), setVerdict(undefined));
  return html`<article class="stack">
    <h1>Verify</h1>
    <p class="quiet">
      Shows in this browser, with nothing of the server, that a signed log has an event: its bytes, its position in the
      tree, and the signature.
    </p>
    <${Sheet} title="Event, proof and key">
      <${Fill} first=${query.get('event') ?? ''} onTexts=${change} />
      <form
        class="stack"
        aria-label="Proof"
        onSubmit=${(/** @type {SubmitEvent} */ event) => (event.preventDefault(), void check(pasted).then(setVerdict))}
      >
        ${areas.map(
          ([name, words, rows]) =>
            html`<label>
              <span>${words}</span>
              <textarea
                class="mono"
                name=${name}
                rows=${rows}
                required
                spellcheck="false"
                value=${pasted[name]}
                onInput=${(/** @type {any} */ { target }) => change({ ...pasted, [name]: target.value })}
              ></textarea>
            </label>`,
        )}
        <button>Verify</button>
      </form>
      <p role="status" class=${verdict ? (verdict.isSound ? 'good' : 'bad') : ''}>
        ${verdict ? `${verdict.isSound ? '●' : '▲'} ${verdict.words}` : ''}
      </p>
    <//>
    <${Json} paths=${['/v1/logs']} />
  </article>`;
}
