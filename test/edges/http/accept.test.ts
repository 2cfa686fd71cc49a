import { expect, it } from 'vitest';
import { isNamedRather } from '../../../src/edges/http/accept.ts';

const [events, json] = ['text/event-stream', 'application/json'];

it.each([
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['text/*', false],
  ['text/event-stream', true],
  ['TEXT/Event-Stream', true],
  ['text/event-streamx', false],
  ['x-text/event-stream', false],
  ['text/event-stream; charset=utf-8', true],
  ['text/event-stream;q=0', false],
  ['text/event-stream;q=0, application/json', false],
  ['text/event-stream ; Q=0.000', false],
  ['application/json, text/event-stream', true],
  ['application/json, text/event-stream;q=0.9', false],
  ['application/json;q=0.1, text/event-stream;q=0.2', true],
  ['text/event-stream;q=0.5, */*', true],
  ['text/event-stream;q=much', false],
])('isNamedRather reads Accept: %s', (accept, expected) => {
  expect(isNamedRather({ headers: accept === undefined ? {} : { accept } }, events, json)).toBe(expected);
});
