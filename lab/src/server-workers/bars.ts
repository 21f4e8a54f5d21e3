import type { Bar, FigureOf } from '../harness/study.ts';

/** How many lanes the bar of two lanes has. */
const LANES = 2;

/**
 * What two lanes can do with 2 ms of CPU for each call, from costs that were measured in other places: what such a call costs
 * inline (server and client), and what handing over adds, as seen in calls that compute nothing. All of it together is shared by the
 * cores; the lanes alone can do no more than two cores can.
 *
 * @returns calls/s
 */
export function ceiling(figure: FigureOf, cores: number): number | null {
  const inlineUs = figure('cpu-2', 'inline', 'cpu');
  const clientUs = figure('cpu-2', 'inline', 'clientCpu');
  const plainUs = figure('calls-8', 'inline', 'cpu');
  const handedUs = figure('calls-8', 'lanes-1', 'cpu');
  if (inlineUs === null || clientUs === null || plainUs === null || handedUs === null) return null;
  const handingUs = Math.max(0, handedUs - plainUs);
  const handlerUs = Math.max(0, inlineUs - plainUs);
  return 1e6 * Math.min(cores / (inlineUs + handingUs + clientUs), LANES / (handlerUs + handingUs / 2));
}

export function barsFor(cores: number): readonly Bar[] {
  return [
    against('1 byte, auto, to inline', 'calls-8', 'auto', 'inline', 0.97),
    against('1 byte, 1 lane, to inline', 'calls-8', 'lanes-1', 'inline', 0.85),
    against('1 byte, 1 lane, to the postMessage pool', 'calls-8', 'lanes-1', 'post-message', 1.1),
    {
      what: '2 ms of CPU, 2 lanes, to the ceiling from measured costs',
      workload: 'cpu-2',
      metric: 'rate',
      contender: 'lanes-2',
      against: { computed: 'ceiling', from: figure => ceiling(figure, cores) },
      wanted: 0.95,
    },
    against('2 ms of CPU, 2 lanes, to inline', 'cpu-2', 'lanes-2', 'inline', 1.85 * 0.95),
    {
      what: 'p50 of fast calls beside slow ones, 2 lanes, to alone (at most twice)',
      workload: 'slow-beside',
      metric: 'p50',
      contender: 'lanes-2',
      against: { workload: 'slow-alone' },
      wanted: 0.5,
    },
    against('1 MiB, 2 lanes, to inline', 'large-1m', 'lanes-2', 'inline', 1),
    {
      ...against('recycling: worst 100 ms, to the same lanes kept', 'recycling', 'recycled', 'lanes-2', 0.9),
      metric: 'dip',
    },
  ];
}

function against(what: string, workload: string, contender: string, other: string, wanted: number): Bar {
  return { what, workload, metric: 'rate', contender, against: { contender: other }, wanted };
}
