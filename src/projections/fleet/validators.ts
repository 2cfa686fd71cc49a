import type { Fact } from '../../events/catalogue.ts';
import { defineProjection, ignoring } from '../projection.ts';
import { validatorTable } from './fleet-tables.ts';
import type { ValidatorRow } from '../tables.ts';

/** Every validator of the chain's list, as far as it counts here. */
export const validators = defineProjection({
  name: 'validators',
  version: 4,
  stream: 'NODES',
  table: validatorTable,
  derivedTables: [],
  on: {
    ValidatorListed: (data) => [{ key: data.validator, next: () => listed(data) }],
    ValidatorChanged: (data) => [{ key: data.validator, next: (row) => changed(row, data) }],
    ValidatorRemoved: ({ validator }) => [{ key: validator, next: (row) => removed(row, validator) }],
    ...ignoring('node'),
  },
});

type Data = Fact<'ValidatorListed'>['data'];

function changed(row: ValidatorRow | undefined, data: Data): ValidatorRow {
  if (!row)
    throw new Error(`Cannot change validator ${data.validator}: it is not listed, and no decider changes it then`);
  return listed(data);
}

function removed(row: ValidatorRow | undefined, validator: string): null {
  if (!row) throw new Error(`Cannot remove validator ${validator}: it is not listed, and no decider removes it then`);
  return null;
}

function listed({ validator, record }: Data): ValidatorRow {
  return { id: validator, moniker: record.moniker, status: record.status, jailed: record.jailed };
}
