// @ts-check
/** @import { ModelsAnswer, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { duration, number } from '../format.js';
import { useRead } from '../read.js';
import { link } from '../router.js';
import { Json, Outcome, Sheet, State, Table, Time } from '../ui.js';

export function Models() {
  const models = /** @type {ReadState<ModelsAnswer>} */ (useRead('/models.json', { follow: true }));
  const { projections = [], archive = [], losses = [] } = models.body ?? {};
  const count = (/** @type {string} */ name) => ({ name, isNumber: true });
  return html`<article class="stack">
    <h1>Read models</h1>
    <${Outcome} of=${models}>
      <${Sheet}
        title="Projections"
        note="each follows one stream; a new one goes live only after an independent fold of the log gave the same rows"
      >
        <${Table}
          label="Projections"
          head=${['projection', 'state', 'stream', count('position'), count('behind'), count('lag'), count('generation'), count('version')]}
          rows=${projections.map((one) => [
            one.projection,
            html`<${Condition} of=${one} />`,
            html`<a href=${link(`/log/${one.stream}`)}>${one.stream}</a>`,
            html`<a href=${link(`/log/${one.stream}/${one.position}`)}>${number(one.position)}</a>`,
            one.status === 'building'
              ? html`<${Built} position=${one.position} behind=${one.behind} />`
              : number(one.behind),
            duration(one.lag_ms),
            number(one.generation),
            number(one.version),
          ])}
        />
      <//>
      <${Sheet} title="Archive" note="the log’s second copy; each stream is compared with it again and again">
        <${Table}
          label="Archive"
          head=${['stream', count('position'), 'comparison', count('compared'), count('repaired')]}
          rows=${archive.map((one) => [
            one.stream,
            number(one.position),
            one.findings.length > 0
              ? html`<span class="bad">${one.findings.join(' ')}</span>`
              : html`<${State} word=${one.compared_at === null ? 'not yet' : 'sound'} />`,
            html`<${Time} at=${one.compared_at} />`,
            html`<${Time} at=${one.repaired_at} />`,
          ])}
        />
        ${losses.map((one) => html`<p class="bad">${one.stream} ${one.first} to ${one.last} are lost: ${one.reason}</p>`)}
      <//>
    <//>
    <${Json} paths=${['/models.json', '/readyz']} />
  </article>`;
}

/** @param {{ of: ModelsAnswer['projections'][number] }} props */
function Condition({ of: { status, stopped_reason: reason, paused_at: pausedAt } }) {
  if (reason !== null) return html`<${State} word="stopped" /> ${reason}`;
  if (pausedAt !== null) return html`<${State} word="paused" /> since <${Time} at=${pausedAt} />`;
  return html`<${State} word=${status} />`;
}

/** @param {{ position: number, behind: number }} props */
function Built({ position, behind }) {
  return html`<progress max=${Math.max(1, position + behind)} value=${position}>${number(behind)} to go</progress>`;
}
