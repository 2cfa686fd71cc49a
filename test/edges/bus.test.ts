import { describe, expect, it } from 'vitest';
import { commands } from '../../src/commands/all.ts';
import { Command } from '../../src/commands/decider.ts';
import { RecordProbes } from '../../src/commands/probing.ts';
import { RequestSync } from '../../src/commands/sync/round-commands.ts';
import { runQuery, dispatch, openBuses } from '../../src/edges/bus.ts';
import { lastMessages } from '../../src/engine/log/direct.ts';
import { streamName } from '../../src/engine/log/streams.ts';
import { subjectOf } from '../../src/events/catalogue.ts';
import { queries } from '../../src/projections/all.ts';
import { Query } from '../../src/projections/query.ts';
import { SyncRounds } from '../../src/projections/rounds/queries.ts';
import { loadReading } from '../support/histories/load-projection.ts';
import { freshLog } from '../engine/log/fresh-log.ts';

const at = '2026-11-21T10:00:00.000Z';

describe('the buses', () => {
  it('carry a command to its decider over the log of its sender, and give back what it came to', async () => {
    const [one, other] = [await freshLog(), await freshLog()];
    const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    const { facts, states } = await dispatch(one.log, new RequestSync({ at, traceparent }));
    const stored = await lastMessages(one.nc, streamName('SYNC', one.network), {
      subjects: [subjectOf('sync', one.network, 'supernodes')],
    });
    expect(stored.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()).traceparent)).toEqual([traceparent]);
    expect(facts).toBe(1);
    expect(states.get('supernodes')?.state.request).toMatchObject({ sequence: 1 });
    expect(await other.log.last('sync', ['supernodes'])).toEqual(new Map());
  });

  it('carry a query to what answers it, over the snapshot it is asked of', async () => {
    const { reading, close } = await loadReading([]);
    expect(await runQuery(reading, new SyncRounds({}))).toEqual([]);
    await close();
  });

  it('hand failures back as they are', async () => {
    const { log } = await freshLog();
    const failure = new Error('as it is');
    const failing = { ...log, last: () => Promise.reject(failure) };
    await expect(dispatch(failing, new RecordProbes(new Map([['n', probe]]), { at }))).rejects.toBe(failure);
  });

  it('know every command and query of the two tables, each once, and no other', async () => {
    class Unknown extends Command<string, never> {}
    class UnknownQuery extends Query<undefined, never> {}
    const { log } = await freshLog();
    await expect(dispatch(log, new Unknown(new Map<string, string>(), { at }))).rejects.toThrow('Unknown');
    const { reading, close } = await loadReading([]);
    await expect(runQuery(reading, new UnknownQuery(undefined))).rejects.toThrow('UnknownQuery');
    await close();
    const classes = [...commands.map(({ command }) => command), ...queries.map(({ query }) => query)];
    expect(new Set(classes.map(({ name }) => name)).size).toBe(classes.length);
    expect((await openBuses()).command).toBe((await openBuses()).command);
  });
});

const probe = { node: 'n', at, ports: [], tookMs: 1, statusAnswer: 'not_asked', reported: [] } as const;
