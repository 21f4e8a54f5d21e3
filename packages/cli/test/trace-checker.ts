/** The rules of the Trace Event Format, as far as the command uses it. */
import assert from 'node:assert/strict';

export interface Event {
  readonly ph: string;
  readonly name: string;
  readonly cat?: string;
  readonly id?: string;
  readonly ts: number;
  readonly dur?: number;
  readonly pid: number;
  readonly tid: number;
  readonly args?: any;
}

const KEYS = ['ph', 'name', 'ts', 'pid', 'tid'];
const MORE_KEYS: Record<string, { must: string[]; may: string[] }> = {
  X: { must: ['dur'], may: ['cat', 'args'] },
  M: { must: ['args'], may: [] },
  C: { must: ['args'], may: [] },
  b: { must: ['cat', 'id'], may: ['args'] },
  n: { must: ['cat', 'id'], may: ['args'] },
  e: { must: ['cat', 'id'], may: ['args'] },
};
const METADATA: Record<string, [key: string, type: string]> = {
  process_name: ['name', 'string'],
  thread_name: ['name', 'string'],
  thread_sort_index: ['sort_index', 'number'],
};

/** @throws AssertionError at the first event that breaks a rule */
export function checkTrace(events: readonly Event[]): void {
  const named = new Set<number>();
  const open = new Map<string, Event>();
  for (const event of events) {
    const about = JSON.stringify(event);
    const more = MORE_KEYS[event.ph];
    assert.ok(more !== undefined, `an unknown phase: ${about}`);
    const keys = Object.keys(event);
    for (const key of [...KEYS, ...more.must]) assert.ok(keys.includes(key), `no ${key}: ${about}`);
    for (const key of keys) assert.ok([...KEYS, ...more.must, ...more.may].includes(key), `${key}: ${about}`);
    assert.ok(typeof event.name === 'string' && event.name !== '', `name: ${about}`);
    assert.ok(Number.isFinite(event.ts) && event.ts >= 0, `ts: ${about}`);
    assert.ok(Number.isInteger(event.pid) && event.pid > 0, `pid: ${about}`);
    assert.ok(Number.isInteger(event.tid) && event.tid >= 0, `tid: ${about}`);
    assert.equal(event.pid, events[0]!.pid, 'more than one process');
    if (event.ph === 'X') assert.ok(Number.isFinite(event.dur) && event.dur! >= 0, `dur: ${about}`);
    if (event.ph === 'M') {
      const [key, type] = METADATA[event.name] ?? assert.fail(`unknown metadata: ${about}`);
      assert.equal(typeof event.args[key], type, about);
      if (event.name === 'thread_name') named.add(event.tid);
    } else assert.ok(named.has(event.tid), `a row without a name: ${about}`);
    if (event.ph === 'C') {
      const values = Object.values(event.args);
      assert.ok(values.length > 0 && values.every(n => Number.isFinite(n) && (n as number) >= 0), about);
    }
    const id = `${event.cat} ${event.id} ${event.name}`;
    if (event.ph === 'b') {
      assert.ok(!open.has(id), `begun twice: ${about}`);
      open.set(id, event);
    }
    if (event.ph === 'n' || event.ph === 'e') {
      const begin = open.get(id);
      assert.ok(begin !== undefined, `not begun: ${about}`);
      assert.ok(begin.ts <= event.ts, `before it began: ${about}`);
      if (event.ph === 'e') open.delete(id);
    }
  }
  assert.deepEqual([...open.keys()], [], 'not ended');
  checkRows(events.filter(event => event.ph === 'X'));
}

/** Complete events on one row do not overlap. */
function checkRows(events: readonly Event[]): void {
  const ends = new Map<number, number>();
  for (const { tid, ts, dur } of [...events].sort((a, b) => a.ts - b.ts)) {
    const startNs = Math.round(ts * 1_000);
    assert.ok(startNs >= (ends.get(tid) ?? 0), `two at once on row ${tid}, at ${ts}`);
    ends.set(tid, startNs + Math.round(dur! * 1_000));
  }
}

/** The names of rows, by `tid`. */
export function rowsOf(events: readonly Event[]): Map<number, string> {
  return new Map(events.filter(e => e.name === 'thread_name').map(e => [e.tid, e.args.name]));
}
