import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gte } from 'semver';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseConfig, settings } from '../../src/config.ts';
import { natsVersion } from '../../src/engine/servers/nats/fetch-nats.ts';
import { leastServer } from '../../src/engine/log/streams.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };

type Json = { readonly [field: string]: Json } & readonly Json[];

const infra = fileURLToPath(new URL('../../infra/', import.meta.url));
const files = readdirSync(infra, { recursive: true, encoding: 'utf8' });
const read = (file: string): string => readFileSync(path.join(infra, file), 'utf8');
const documents = (file: string): Json[] =>
  parseAllDocuments(read(file), { merge: true }).map((document) => {
    expect(
      [...document.errors, ...document.warnings].map(({ message }) => message),
      file,
    ).toEqual([]);
    return document.toJS() as Json;
  });
const known = new Set<string>(Object.values(settings).map(({ env }) => env));
/** Settings with what an operator gives in the place of `${…}`. */
const filled = (env: Json): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      String(value)
        .replace(/\$\{\w+:-(\w*)\}/g, '$1')
        .replace(/\$\{CHAIN_API_BASE:\?\}/g, 'https://chain.example.org')
        .replace(/\$\{\w+:\?\}/g, 'secret'),
    ]),
  );
const env = (file: string): Record<string, string> =>
  Object.fromEntries(
    read(file)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

test.each(files.filter((file) => /\.ya?ml$/.test(file)))('infra/%s is YAML', (file) => {
  expect(documents(file).every((document) => typeof document === 'object' && document !== null)).toBe(true);
});

test.each(files.filter((file) => file.endsWith('.yaml') && read(file).includes('image: nats:')))(
  'infra/%s runs nats-server of the line that the program fetches',
  (file) => {
    const lines = [...read(file).matchAll(/image: nats:(\d+\.\d+)-alpine/g)].map(([, line]) => line);
    expect(lines.length).toBe(read(file).split('image: nats:').length - 1);
    expect(new Set(lines)).toEqual(new Set([natsVersion.replace(/\.\d+$/, '')]));
    expect(gte(natsVersion, leastServer)).toBe(true);
  },
);

describe.each(['compose.yaml', 'compose.scaled-out.yaml'])('infra/%s', (file) => {
  const [compose] = documents(file) as [Json];
  const services = Object.entries(compose['services'] as Json);

  test('has services that depend on healthy ones, and mounts what is there', () => {
    const volumes = Object.keys(compose['volumes'] as Json);
    for (const [name, service] of services) {
      for (const [other, { condition }] of Object.entries((service['depends_on'] ?? {}) as Record<string, Json>)) {
        expect(condition, name).toBe('service_healthy');
        expect((compose['services'] as Json)[other]?.['healthcheck'], `${name} on ${other}`).toBeDefined();
      }
      for (const mount of (service['volumes'] ?? []) as unknown as string[]) {
        const [from = ''] = mount.split(':');
        expect(from.startsWith('./') ? existsSync(path.join(infra, from)) : volumes.includes(from), mount).toBe(true);
      }
      if (service['build'])
        expect(existsSync(path.join(infra, '..', String(service['build']['dockerfile'])))).toBe(true);
    }
  });

  test('gives Annals settings that it takes, and keeps it from writing and from rights', () => {
    const ours = services.filter(([, { image }]) => String(image) === 'annals');
    expect(ours.length).toBeGreaterThan(0);
    for (const [name, service] of ours) {
      const given = filled(service['environment'] as Json);
      expect(
        Object.keys(given).filter((one) => !known.has(one)),
        name,
      ).toEqual([]);
      expect(parseConfig(given), name).toMatchObject({ durability: 'strict' });
      expect(service, name).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    }
  });
});

describe('infra/compose.scaled-out.yaml', () => {
  test('runs two of each role on three servers that know one another', () => {
    const [{ services }] = documents('compose.scaled-out.yaml') as [Json];
    const all = Object.values(services as Json);
    const roles = all.map((one) => one['environment']?.['ROLES']).filter((role) => role !== undefined);
    expect(roles.map(String).toSorted()).toEqual(['auditor', 'indexer', 'projector'].flatMap((role) => [role, role]));
    const commands = all.filter(({ image }) => String(image).startsWith('nats:')).map((one) => String(one['command']));
    expect(commands).toHaveLength(3);
    for (const command of commands) for (const n of [0, 1, 2]) expect(command).toContain(`nats://nats-${n}:6222`);
  });
});

describe('infra/kustomize', () => {
  const kustomizations = files.filter((file) => file.endsWith('kustomization.yaml'));
  const objects = files
    .filter((file) => file.startsWith('kustomize/') && file.endsWith('.yaml') && !kustomizations.includes(file))
    .flatMap(documents);
  const workloads = objects.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(String(kind)));
  const name = (object: Json): string => `${String(object['kind'])} ${String(object['metadata']?.['name'])}`;

  test.each(kustomizations)('%s names what is there', (file) => {
    const folder = path.join(infra, path.dirname(file));
    const [one] = documents(file) as [Json];
    expect(one).toMatchObject({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' });
    const generators = [one['configMapGenerator'] ?? [], one['secretGenerator'] ?? []] as unknown as Json[][];
    const sources = generators.flat().flatMap(({ envs, files: taken }) => [...(envs ?? []), ...(taken ?? [])]);
    for (const place of [...(one['resources'] ?? []), ...sources])
      expect(existsSync(path.join(folder, String(place))), String(place)).toBe(true);
  });

  test('has the kinds of objects that operators need, each of the right version', () => {
    const versions: Record<string, string> = {
      Deployment: 'apps/v1',
      StatefulSet: 'apps/v1',
      Service: 'v1',
      PodDisruptionBudget: 'policy/v1',
      NetworkPolicy: 'networking.k8s.io/v1',
    };
    for (const object of objects) expect(object['apiVersion'], name(object)).toBe(versions[String(object['kind'])]);
    expect(new Set(objects.map(name)).size).toBe(objects.length);
  });

  test('runs every container without rights, on a root that cannot be written, with probes and bounds', () => {
    for (const workload of workloads) {
      const { template, selector } = workload['spec'] as Json;
      expect(template?.['metadata']?.['labels'], name(workload)).toMatchObject(selector?.['matchLabels'] ?? {});
      expect(template?.['spec'], name(workload)).toMatchObject({ securityContext: { runAsNonRoot: true } });
      for (const container of (template?.['spec']?.['containers'] ?? []) as readonly Json[]) {
        expect(container).toMatchObject({
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
          resources: { requests: { cpu: expect.any(String), memory: expect.any(String) }, limits: expect.anything() },
        });
        const ports = (container['ports'] ?? []) as readonly Json[];
        for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe'])
          expect(ports.map((port) => port['name'])).toContain(container[kind]?.['httpGet']?.['port']);
      }
    }
  });

  test('probes what Annals answers', () => {
    for (const workload of workloads.filter(({ kind }) => String(kind) === 'Deployment')) {
      expect(workload['spec']?.['template']?.['spec']?.['containers']?.[0]).toMatchObject({
        livenessProbe: { httpGet: { path: '/healthz' } },
        readinessProbe: { httpGet: { path: '/readyz' } },
      });
    }
  });

  test('runs every role that a real chain needs', () => {
    const roles = workloads.map((one) => one['spec']?.['template']?.['metadata']?.['labels']?.['role']);
    expect(roles.filter((role) => role !== undefined).map(String)).toEqual(
      expect.arrayContaining(['auditor', 'indexer', 'projector']),
    );
  });

  test('gives every workload a budget for disruptions, and selects nothing that is not there', () => {
    const labels = workloads.map((one) => one['spec']?.['template']?.['metadata']?.['labels'] as Json);
    const selects = (selector: Json): boolean =>
      labels.some((one) => Object.entries(selector).every(([key, value]) => one[key] === value));
    const budgets = objects.filter(({ kind }) => String(kind) === 'PodDisruptionBudget');
    expect(budgets).toHaveLength(workloads.length);
    for (const object of objects) {
      const { selector, podSelector } = object['spec'] as Json;
      const chosen = selector?.['matchLabels'] ?? podSelector?.['matchLabels'] ?? selector;
      expect(selects(chosen as Json), name(object)).toBe(true);
    }
  });

  test.each(['small', 'cluster'])('overlay %s gives settings that Annals takes', (overlay) => {
    const [one] = documents(`kustomize/overlays/${overlay}/kustomization.yaml`) as [Json];
    const literals = ((one['configMapGenerator'] ?? []) as readonly Json[]).flatMap((map) => map['literals'] ?? []);
    const { ANNALS_NATS_PASSWORD: _, ...given } = {
      ...env('kustomize/base/settings.env'),
      ...env(`kustomize/overlays/${overlay}/secret.env`),
      ...Object.fromEntries(literals.map((pair) => String(pair).split(/=(.*)/s).slice(0, 2) as [string, string])),
    };
    expect(Object.keys(given).filter((variable) => !known.has(variable))).toEqual([]);
    expect(parseConfig(given)).toMatchObject({ isLocal: false, network: 'main' });
  });
});

test('infra/Dockerfile copies what is there, and runs as an ordinary user', () => {
  const lines = read('Dockerfile').split('\n');
  const copied = lines.filter((line) => /^COPY (?!--from)/.test(line)).flatMap((line) => line.split(' ').slice(1, -1));
  for (const place of copied) expect(existsSync(path.join(infra, '..', place)), place).toBe(true);
  const ignored = read('Dockerfile.dockerignore').split('\n');
  expect(copied.filter((place) => !ignored.includes(`!${place}`))).toEqual([]);
  expect(lines.findLast((line) => line.startsWith('USER '))).toBe('USER node');
  const [, entry = ''] = /ENTRYPOINT .*"(src\/[^"]+)"/.exec(read('Dockerfile')) ?? [];
  expect(existsSync(path.join(infra, '..', entry))).toBe(true);
  const command = /ENTRYPOINT (.*)/.exec(read('Dockerfile'))?.[1] ?? '[]';
  expect(JSON.parse(command)).toEqual(expect.arrayContaining(lean));
});
