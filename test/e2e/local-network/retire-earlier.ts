import pg from 'pg';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import type { Program } from '../../support/programs/program.ts';

/** As if the last switches had been made a minute before: as long as readers may look at what was dropped. */
export async function retireEarlier({ instance }: Program): Promise<void> {
  const client = new pg.Client(instance.postgres);
  await client.connect();
  await client.query(`update ${metaSchema('local')}.generations set retired_at = retired_at - interval '1 minute'`);
  await client.end();
}
