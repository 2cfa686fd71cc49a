import { afterAll } from 'vitest';
import { removeNetworks } from './programs/servers.ts';

afterAll(removeNetworks);
