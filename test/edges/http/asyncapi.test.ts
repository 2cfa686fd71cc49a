import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { asyncApi } from '../../../src/edges/http/asyncapi.ts';
import { catalogue, factTypes, streamOf } from '../../../src/events/catalogue.ts';
import { streamTable } from '../../../src/events/streams.ts';
import { messagesOf } from './live-messages.ts';

const folder = path.join(import.meta.dirname, '../../fixtures/events');
const document = asyncApi({ version: '1.2.3', network: 'local', host: 'here:1', natsPort: 2, natsWsPort: 3 });
const check = messagesOf(document);

/** Facts of kinds that are neither live nor in a public log. */
const hidden = factTypes.filter((type) => {
  const { kinds, proven } = streamTable[streamOf(type)];
  return (
    proven !== 'public' && !Object.entries(kinds).some(([kind, { live }]) => live && kind === catalogue[type].kind)
  );
});
const typeOf = (file: string) => factTypes.find((type) => file.startsWith(`${type}.v1.`));
const stored = readdirSync(folder).map((file) => ({
  file,
  type: typeOf(file) ?? 'ActionExpired',
  text: readFileSync(path.join(folder, file), 'utf8'),
}));

describe('the AsyncAPI document', () => {
  it('has a message for every fact that strangers may read, which every event of it ever stored fits', () => {
    const shown = stored.filter(({ type }) => !hidden.includes(type));
    expect(shown.length).toBeGreaterThan(30);
    for (const { file, type, text } of shown) {
      const channel = streamTable[streamOf(type)].proven === 'public' ? `log_${streamOf(type)}` : 'live';
      expect([file, check(text, channel)]).toEqual([file, []]);
    }
  });

  it('has nothing of private kinds, not even the names of their facts or fields', () => {
    expect(hidden.length).toBeGreaterThan(8);
    const text = JSON.stringify(document);
    for (const type of hidden) expect(text).not.toContain(type);
    expect(Object.keys(document['channels'] as object)).not.toContain('log_TRANSFERS');
    expect(Object.keys(document['channels'] as object)).not.toContain('live_request');
  });

  it('refuses an event of another channel, without a field, or with one of another type', () => {
    const { text = '' } = stored.find(({ file }) => file === 'ProbeFailed.v1.json') ?? {};
    const event = JSON.parse(text) as { data: Record<string, unknown> };
    expect(check(text, 'live_probe')).toEqual([]);
    expect(check(text, 'live_action')).toEqual(['live_action has no message ProbeFailed']);
    const { node: _, ...without } = event.data;
    for (const data of [without, { ...event.data, tookMs: 'long' }, { ...event.data, ports: {} }])
      expect(check(JSON.stringify({ ...event, data }), 'live_probe').length).toBe(1);
    expect(check(JSON.stringify({ ...event, time: 'today' }), 'live_probe').length).toBe(1);
  });
});
