import { expect } from 'vitest';
import { framesIn, type Json, registered, streamed, upload } from './gateway-client.ts';

/**
 * Reads the states of an upload as a reader does whose connection is cut after some bytes, again and again until the
 * end, and then a thousand times from anywhere: each state once, in order.
 */
export async function expectSeenOnce(gateway: string, reconnects: number): Promise<void> {
  const file = await registered(gateway, 'with a bad connection.bin', { size: 3_000_000 });
  const answer = await upload(`${gateway}/api/v1/actions/cascade`, file);
  const { task_id: id } = (await answer.json()) as Json;
  const url = `${gateway}/api/v1/actions/cascade/tasks/${String(id)}/status`;
  const seen = await cutAgainAndAgain(url);
  const whole = (await streamed(url)).slice(0, -1).map(({ event }) => event.id);
  expect(whole).toEqual(whole.map((_, at) => String(at + 1)));
  expect(seen).toEqual(whole);

  const places = Array.from({ length: reconnects }, (_, at) => (at * 7) % (whole.length + 1));
  for (let at = 0; at < places.length; at += atOnce)
    await Promise.all(places.slice(at, at + atOnce).map((place) => expectFrom(url, place, whole)));
}

/** Fewer than one address may have open. */
const atOnce = 10;

async function expectFrom(url: string, place: number, whole: readonly string[]): Promise<void> {
  const frames = await streamed(url, { accept: 'text/event-stream', 'last-event-id': String(place) });
  const unnamed = frames.filter(({ name }) => name === undefined).map(({ event }) => event.id);
  expect(unnamed).toEqual(whole.slice(place));
  expect(frames.filter(({ name }) => name !== undefined)).toHaveLength(place === whole.length ? 0 : 1);
}

/** The ids that a reader has seen who loses its connection with every few bytes, whatever stands in them. */
async function cutAgainAndAgain(url: string): Promise<string[]> {
  const seen: string[] = [];
  for (let tried = 1; tried < 500; tried++) {
    const cut = new AbortController();
    const last = seen.at(-1) ?? '';
    const answer = await fetch(url, { headers: { 'last-event-id': last }, signal: cut.signal });
    if (answer.status === 204 || answer.body === null) return seen;
    let text = '';
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.length > tried * 37) break;
    }
    cut.abort();
    seen.push(
      ...framesIn(text.slice(0, tried * 37)).flatMap(({ name, event }) => (name === undefined ? [event.id] : [])),
    );
  }
  throw new Error(`The stream has no end: ${seen.join(' ')}`);
}
