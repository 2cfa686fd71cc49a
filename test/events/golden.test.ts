import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { DescMessage } from '@bufbuild/protobuf';
import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { decode, encode } from '../../src/engine/log/envelope.ts';
import { catalogue, entityOf, factTypes } from '../../src/events/catalogue.ts';
import { eventType, upcast } from '../../src/events/upcast.ts';

const folder = path.join(import.meta.dirname, '../fixtures/events');
const files = readdirSync(folder);

type Stored = {
  subject: string;
  type: string;
  time: string;
  data: JsonValue;
  correlationid?: string;
  causationid?: string;
  traceparent?: string;
  previousid?: string;
};

function load(file: string): { bytes: Buffer; event: Stored } {
  const bytes = readFileSync(path.join(folder, file));
  return { bytes, event: JSON.parse(bytes.toString()) };
}

/** The names of all fields that a message and its parts have, and of those that hold something in some data. */
function fieldsOf(schema: DescMessage, names = new Set<string>()): Set<string> {
  for (const field of schema.fields) {
    const name = `${schema.name}.${field.jsonName}`;
    if (names.has(name)) continue;
    names.add(name);
    if (field.message) fieldsOf(field.message, names);
  }
  return names;
}

function filledIn(schema: DescMessage, data: JsonValue, names: Set<string>): void {
  const values = new Map<string, JsonValue>(Object.entries(data ?? {}));
  for (const field of schema.fields) {
    const value = values.get(field.jsonName);
    const all = Array.isArray(value) ? value : value === undefined ? [] : [value];
    if (all.length > 0) names.add(`${schema.name}.${field.jsonName}`);
    if (field.message) for (const one of all) filledIn(field.message, one, names);
  }
}

/**
 * A fact's type is the head of the name of its file; one that gained fields has a file for each form that was ever
 * written.
 */
const typeOf = (file: string) => factTypes.find((type) => file.startsWith(`${type}.v1.`));

test('every fact of the catalogue has a stored event, and every stored event is of a fact', () => {
  expect(new Set(files.map(typeOf))).toEqual(new Set(factTypes));
});

describe.each(files)('the stored event %s', (file) => {
  const type = typeOf(file) ?? 'ChainInitialised';
  const { bytes, event } = load(file);

  test('is read as that fact', () => {
    const { fact, sequence, time } = decode(bytes, 41);
    expect({ type: fact.type, sequence, time }).toEqual({ type, sequence: 41, time: event.time });
    expect(entityOf(fact)).toBe(event.subject);
    expect(fact.data).toEqual(event.data);
  });

  test('is written again byte by byte', () => {
    const cause = {
      at: event.time,
      correlation: event.correlationid,
      causation: event.causationid,
      traceparent: event.traceparent,
    };
    const { fact, previous } = decode(bytes, 1);
    const again = encode(fact, { network: 'main', cause, previous });
    expect(Buffer.from(again.bytes).toString()).toBe(bytes.toString());
    expect(again.id).toBe(decode(bytes, 1).id);
  });

  test('is read the same however it is put together, and not when it is broken', () => {
    const own = bytes.toString();
    const last = own.slice(0, -1);
    const [foreign, spaced] = [Object.fromEntries(Object.entries(event).toReversed()), JSON.stringify(event, null, 1)];
    for (const text of [JSON.stringify(foreign), spaced, `${own}\n`, `${last} }`, `${last},"extra":{}}`])
      expect(decode(Buffer.from(text), 41)).toEqual(decode(bytes, 41));
    expect(decode(Buffer.from(`${last},"id":"of the last one"}`), 41).id).toBe('of the last one');
    for (const text of [last, `${own}}`, `${last}x`, `${last},}`, own.replace('"time":"', '"time":"\u0001')])
      expect(() => decode(Buffer.from(text), 41)).toThrow();
  });

  test('is plain protobuf JSON of its schema, nothing more', () => {
    const { schema } = catalogue[type];
    const message = fromJson(schema, event.data, { ignoreUnknownFields: false });
    expect(JSON.stringify(toJson(schema, message, { alwaysEmitImplicit: true }))).toBe(JSON.stringify(event.data));
  });
});

test('every field of every fact is filled in in some stored event', () => {
  const [all, filled] = [new Set<string>(), new Set<string>()];
  for (const file of files) {
    const { schema } = catalogue[typeOf(file) ?? 'ChainInitialised'];
    fieldsOf(schema, all);
    filledIn(schema, load(file).event.data, filled);
  }
  expect([...all].filter((name) => !filled.has(name))).toEqual([]);
});

test('upcast refuses a type or a version that this code does not know, and an event without data', () => {
  for (const unknown of [
    'annals.ActionVanished.v1',
    'annals.ProbeFailed.v2',
    'ProbeFailed',
    'annals.toString.v1',
    '',
  ]) {
    expect(() => upcast(unknown, {})).toThrow('Unknown event type');
  }
  expect(() => upcast(eventType('ProbeFailed'), undefined)).toThrow('has no data');
});

test('decode refuses what is not an event', () => {
  for (const text of [
    '',
    'null',
    '7',
    '[]',
    '{}',
    '{"specversion":"0.3","id":"a","type":"annals.ProbeFailed.v1","time":"t","data":{}}',
  ]) {
    expect(() => decode(Buffer.from(text), 1)).toThrow();
  }
});
