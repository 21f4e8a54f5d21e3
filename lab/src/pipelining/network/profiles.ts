/** What a network between a client and a server can do, and how the machines at its ends send. */
export interface Profile {
  readonly name: string;
  readonly title: string;
  /** Rate of IP packets with their headers, to the client and from it, in 1000 bit/s. */
  readonly downKbit: number;
  readonly upKbit: number;
  /** Of a small packet on an idle network, without the time that it takes to send it. */
  readonly rttMs: number;
  /** What may wait in each direction; a packet that finds no room is dropped. */
  readonly queueBytes: number;
  /** Segments that a new connection may send at once; null: what the kernel does (10). */
  readonly initcwnd: number | null;
  /** Null: what the kernel does. */
  readonly congestion: 'reno' | 'cubic' | null;
}

// Stacks of 2008: RFC 3390's window, which is 3 segments of 1,460 bytes, and no cubic outside Linux.
const stacksOf2008 = { initcwnd: 3, congestion: 'reno' } as const;
const stacksOfToday = { initcwnd: null, congestion: 'cubic' } as const;

// Two steps of EDGE with four slots down and two up. What a base station keeps rather than drops lasts for two seconds.
const edge = { downKbit: 240, upKbit: 100, queueBytes: 64_000, ...stacksOf2008 };

export const PROFILES = {
  'edge-400': { name: 'edge-400', title: 'EDGE 2008, 400 ms', rttMs: 400, ...edge },
  'edge-700': { name: 'edge-700', title: 'EDGE 2008, 700 ms', rttMs: 700, ...edge },
  // HSPA as it is used, not as it is sold; its buffers hold about half a second.
  '3g': {
    name: '3g',
    title: '3G',
    downKbit: 1_600,
    upKbit: 768,
    rttMs: 150,
    queueBytes: 100_000,
    ...stacksOfToday,
  },
  lte: {
    name: 'lte',
    title: 'LTE',
    downKbit: 12_000,
    upKbit: 5_000,
    rttMs: 60,
    queueBytes: 300_000,
    ...stacksOfToday,
  },
  // Interleaving against noise on the line makes most of its delay.
  dsl: {
    name: 'dsl',
    title: 'DSL',
    downKbit: 8_000,
    upKbit: 1_000,
    rttMs: 40,
    queueBytes: 100_000,
    ...stacksOfToday,
  },
  // Geostationary: 4 × 35,786 km at the speed of light is 477 ms, and there is equipment at both ends.
  satellite: {
    name: 'satellite',
    title: 'Satellite',
    downKbit: 20_000,
    upKbit: 3_000,
    rttMs: 600,
    queueBytes: 1_500_000,
    ...stacksOfToday,
  },
  lan: {
    name: 'lan',
    title: 'LAN',
    downKbit: 100_000,
    upKbit: 100_000,
    rttMs: 1,
    queueBytes: 250_000,
    ...stacksOfToday,
  },
} as const satisfies Readonly<Record<string, Profile>>;
