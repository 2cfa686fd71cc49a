// @ts-check
/** @import { IncidentsAnswer, ReadState, UptimeAnswer, UptimePeriod } from './answers.d.ts' */
import { html, useEffect, useRef, useState } from '/assets/htm-preact.js';
import { duration, moment, number } from './format.js';
import { useRead } from './read.js';
import { Outcome, Sheet, State, Table, Time } from './ui.js';

/** Availability of a SuperNode: a strip of days, its incidents, and how long its answers took. */

const days = 90;
const [barWidth, height] = [4, 24];
const gap = 1;

/** @param {number | null} share */
const percent = (share) => (share === null ? 'unknown' : `${number(share * 100, 2)} %`);

/** What is known of a window in words. @param {UptimeAnswer} uptime */
function sumOf({ availability, up_seconds: up, down_seconds: down }) {
  const known = (up + down) * 1000;
  if (known === 0) return `nothing is known of the last ${days} days`;
  const lost = down > 0 ? `, ${duration(down * 1000)} down` : '';
  return `${percent(availability)} up${lost}; ${duration(known)} of ${days} days are known`;
}

/** The state of a day in words. @param {UptimePeriod} period */
function wordsOf({ from, availability, down_seconds: down }) {
  const day = moment(from).slice(0, -9);
  if (availability === null) return `${day}: unknown`;
  return `${day}: ${percent(availability)} up${down > 0 ? `, ${duration(down * 1000)} down` : ''}`;
}

/**
 * One bar a day: the part that the node was down at its foot; a day of which nothing is known is low and grey.
 *
 * @param {{ periods: readonly UptimePeriod[] }} props
 */
function Bars({ periods }) {
  const width = periods.length * (barWidth + gap);
  return html`<svg class="strip" viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
    ${periods.map((period, at) => {
      const x = at * (barWidth + gap);
      const { availability } = period;
      const down = availability === null ? 0 : Math.ceil((1 - availability) * height);
      return html`<g>
        <title>${wordsOf(period)}</title>
        ${
          availability === null
            ? html`<rect class="unknown" x=${x} y=${height - 4} width=${barWidth} height="4" />`
            : html`<rect class="up" x=${x} y="0" width=${barWidth} height=${height - down} />
                <rect class="down" x=${x} y=${height - down} width=${barWidth} height=${down} />`
        }
      </g>`;
    })}
  </svg>`;
}

/** Ninety days of a node with their sum in words; read once it comes into view. @param {{ id: string }} props */
export function Strip({ id }) {
  const [isSeen, setSeen] = useState(false);
  const box = useRef(/** @type {Element | null} */ (null));
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const path = `/v1/supernodes/${encodeURIComponent(id)}/availability?window=${days}d`;
  const { body } = /** @type {ReadState<UptimeAnswer>} */ (useRead(isSeen ? path : null));
  return html`<div ref=${box}>
    ${body ? html`<${Bars} periods=${body.periods} />` : ''}
    <p class="quiet">${body ? sumOf(body) : '…'}</p>
  </div>`;
}

/** @param {{ id: string }} props */
function Incidents({ id }) {
  const path = `/v1/supernodes/${encodeURIComponent(id)}/incidents?limit=20`;
  const incidents = /** @type {ReadState<IncidentsAnswer>} */ (useRead(path, { follow: true }));
  return html`<${Outcome} of=${incidents}>
    <${Table}
      label="Incidents"
      head=${['state', 'started', 'ended', { name: 'lasted', isNumber: true }, 'what failed']}
      rows=${(incidents.body?.incidents ?? []).map((one) => [
        html`<${State} word=${one.state === 'open' ? 'down' : 'ended'} />`,
        html`<${Time} at=${one.started_at} isFull=${true} />`,
        html`<${Time} at=${one.ended_at} isFull=${true} />`,
        one.duration_seconds === null ? '–' : duration(one.duration_seconds * 1000),
        [...one.ports.map(({ port, outcome }) => `${port} ${outcome}`), ...one.status_answers].join(', '),
      ])}
      empty="None is known."
    />
  <//>`;
}

const series = /** @type {const} */ (['p50', 'p90', 'p99']);

/**
 * Draws how long answers took.
 *
 * @param {HTMLElement} target
 * @param {readonly UptimePeriod[]} periods
 */
async function draw(target, periods) {
  const { default: UPlot } = await import('/assets/uplot.js');
  const { color: ink, borderColor: line } = getComputedStyle(target);
  const axis = { stroke: ink, grid: { stroke: line } };
  const lines = series.map((label, at) => ({ label, stroke: ink, width: 3 - at, dash: at === 0 ? [] : [2 * at, 3] }));
  const options = {
    width: target.clientWidth,
    height: 240,
    series: [{}, ...lines],
    axes: [axis, { ...axis, label: 'ms' }],
  };
  const values = series.map((name) => periods.map(({ response_ms: times }) => times?.[name] ?? null));
  return new UPlot(options, [periods.map(({ from }) => Date.parse(from) / 1000), ...values], target);
}

/** How long answers took, by day. @param {{ periods: readonly UptimePeriod[] }} props */
function Latency({ periods }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const known = periods.filter(({ response_ms: times }) => times !== null);
  const isDrawn = known.length > 1;
  useEffect(() => {
    const target = box.current;
    if (!target || !isDrawn) return undefined;
    const chart = draw(target, known);
    return () => void chart.then((one) => one.destroy());
  }, [JSON.stringify(known)]);
  if (!isDrawn) return html`<p class="quiet">It is drawn once two days are closed.</p>`;
  return html`<div class="chart" ref=${box} role="img" aria-label="Milliseconds that probes took, by day"></div>`;
}

/** The sheets of a node's page. @param {{ id: string }} props */
export function Uptime({ id }) {
  const path = `/v1/supernodes/${encodeURIComponent(id)}/availability?window=${days}d`;
  const uptime = /** @type {ReadState<UptimeAnswer>} */ (useRead(path));
  return html`<div class="stack">
    <${Sheet} title="Availability" note=${`the last ${days} days`}>
      <${Outcome} of=${uptime}>
        ${uptime.body ? html`<${Bars} periods=${uptime.body.periods} />` : ''}
        <p>${uptime.body ? sumOf(uptime.body) : ''}</p>
      <//>
    <//>
    <${Sheet} title="Incidents"><${Incidents} id=${id} /><//>
    <${Sheet} title="Response times" note="50, 90 and 99 of 100 probes took at most">
      <${Latency} periods=${uptime.body?.periods ?? []} />
    <//>
  </div>`;
}
