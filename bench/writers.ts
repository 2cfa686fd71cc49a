/** How many appends are under way at any time. */
export const inFlight = 32;

/**
 * Runs as many writers as there may be appends in flight; each writes its own entities in turn, one event at a time, so
 * that every append but an entity's first one has a version to check.
 *
 * `write` gives back the version that the entity's next append expects.
 */
export async function writeAll<Version>(
  { entities, events, first }: { entities: readonly string[]; events: number; first: Version },
  write: (entity: string, event: number, expected: Version) => Promise<Version>,
): Promise<void> {
  const versions = new Map<string, Version>();
  const writer = async (own: readonly string[], from: number): Promise<void> => {
    for (let event = from; event < events; event += inFlight) {
      const entity = own[Math.floor(event / inFlight) % own.length] ?? '';
      versions.set(entity, await write(entity, event, versions.get(entity) ?? first));
    }
  };
  await Promise.all(
    Array.from({ length: inFlight }, (_, at) =>
      writer(
        entities.filter((_entity, n) => n % inFlight === at),
        at,
      ),
    ),
  );
}
