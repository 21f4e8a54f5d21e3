import { callback } from '../call/callback.ts';
import type { PoolOptions } from '../options.ts';
import type { Pool } from '../pool-type.ts';
import { type ContractCase, check, equal, pause, range, refused, rejection, until } from './check.ts';
import { ContractError } from './contract-tasks.ts';

export type ContractTasks = typeof import('./contract-tasks.ts');

/** A placement that runs functions, as the call contract is given it. */
export interface CallSubject {
  /**
   * Makes a pool of this placement.
   *
   * @param module `'tasks'`: those of `hotlane/testing/tasks`; `'missing'`: a module that is not there
   */
  createPool(options: PoolOptions, module: 'tasks' | 'missing'): Pool<ContractTasks>;
  readonly capabilities: CallCapabilities;
}

/** What a placement can do; where it cannot, the contract says what it does instead. */
export interface CallCapabilities {
  /** Lanes run beside the host: a function that blocks does not hold the host up. */
  readonly parallel: boolean;
  /** A lane can be ended while its function loops. Without it, the lane is given up and its late answer ignored. */
  readonly endable: boolean;
  /** A function can end its own lane (`process.exit`), and only that. */
  readonly exits: boolean;
  /** Each lane has a copy of the module, and so state, of its own. Without it, all share the host's. */
  readonly ownState: boolean;
  /** A SharedArrayBuffer is shared. Without it, it cannot be passed. */
  readonly sharedMemory: boolean;
}

/**
 * What every placement that runs functions promises, as cases for any test runner:
 *
 * ```ts
 * for (const { name, run } of callContract(subject)) it(name, run);
 * ```
 */
export function callContract(subject: CallSubject): ContractCase[] {
  const { capabilities } = subject;
  const cases: ContractCase[] = [];
  const it = (name: string, options: PoolOptions, body: (pool: Pool<ContractTasks>) => Promise<void>) => {
    cases.push({
      name,
      run: async () => {
        const pool = subject.createPool(options, 'tasks');
        try {
          await body(pool);
        } finally {
          await pool.destroy();
        }
      },
    });
  };
  const ONE: PoolOptions = { lanes: 1 };
  const PATIENT: PoolOptions = { lanes: 1, graceMs: 60_000 };

  // ---- values -------------------------------------------------------------------------------------------

  it('answers with what the function returns, sync or async', ONE, async pool => {
    equal(await pool.call.add(1, 2), 3);
    equal(await pool.call.later('x', 1), 'x');
    equal(await pool.call.echo(undefined), undefined);
  });

  it('carries values of every kind, and keeps their structure', ONE, async pool => {
    const shared = { n: 1 };
    const value = {
      text: 'é…𝄞',
      numbers: [0, -0, 1.5, -7, 2 ** 40, Number.NaN, Number.POSITIVE_INFINITY],
      big: 2n ** 70n,
      date: new Date(5),
      map: new Map<unknown, unknown>([['k', new Set([1, 'two'])]]),
      bytes: new Uint8Array([1, 2, 3]),
      twice: [shared, shared],
      nothing: [null, undefined],
    };
    const copy = await pool.call.echo(value);
    equal(copy, value);
    check(copy !== value && copy.twice[0] === copy.twice[1], 'copies, and what is the same stays the same');
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const back = await pool.call.echo(cycle);
    check(back.self === back, 'a cycle stays one');
  });

  it('carries values of any size both ways at once', { lanes: 2 }, async pool => {
    const sizes = [0, 1, 100, 16_384, 70_000, 1 << 20, 3_000_000];
    const results = await Promise.all(sizes.map(size => pool.call.echo(new Uint8Array(size).fill(9))));
    results.forEach((result, i) => {
      equal(result.length, sizes[i]);
      check(result.length === 0 || result[result.length - 1] === 9, 'the last byte came along');
    });
  });

  it('reads arguments in the call: what is changed afterwards is not seen', ONE, async pool => {
    const value = { list: [1, 2] };
    const result = pool.call.echo(value);
    value.list.push(3);
    equal(await result, { list: [1, 2] });
  });

  it('gives each of many calls its own answer, also those made before any lane is up', {
    lanes: 2,
  }, async pool => {
    equal(
      await Promise.all(range(3_000).map(i => pool.call.add(i, 1))),
      range(3_000).map(i => i + 1),
    );
  });

  it('moves what is to be transferred, in the call, and back with context.transfer', ONE, async pool => {
    const bytes = new Uint8Array([1, 2, 3]);
    const result = pool.with({ transfer: [bytes.buffer] }).echo(bytes);
    equal(bytes.byteLength, 0, 'bytes left with the host');
    equal(await result, new Uint8Array([1, 2, 3]));
    const back = await pool.call.moveBack(100_000);
    equal([back.length, back[99_999]], [100_000, 7]);
  });

  if (typeof SharedArrayBuffer === 'function') {
    const name = capabilities.sharedMemory
      ? 'shares a SharedArrayBuffer instead of copying it'
      : 'refuses a SharedArrayBuffer, which it cannot share';
    it(name, ONE, async pool => {
      const shared = new Int32Array(new SharedArrayBuffer(8));
      if (capabilities.sharedMemory) {
        await pool.call.addTo(shared, 1);
        equal([...shared], [0, 1]);
      } else await refused(pool.call.addTo(shared, 1), 'NOT_CLONEABLE');
    });
  }

  // ---- errors -------------------------------------------------------------------------------------------

  it(
    'rejects with what the function throws: class, message, code, cause, own properties',
    ONE,
    async pool => {
      const type = await rejection(pool.call.throwOwn('type'));
      check(type instanceof TypeError && type.message === 'no', 'a TypeError arrives as one');
      check(/throwOwn/.test(type.stack!), 'the stack has the frame in the lane');
      check(/── in lane \d+/.test(type.stack!), 'the stack says which part is the lane’s');
      const coded = await rejection(pool.call.throwOwn('coded'));
      equal([coded.code, coded.tries], ['E_CODED', 3]);
      check(coded.cause instanceof SyntaxError && coded.cause.message === 'deeper', 'the cause arrives');
      const many = await rejection(pool.call.throwOwn('many'));
      check(
        many instanceof AggregateError && many.errors[0] instanceof TypeError,
        'errors of an AggregateError arrive',
      );
      const registered = await rejection(pool.call.throwOwn('registered'));
      check(
        registered instanceof ContractError && registered.field === 'age',
        'a registered class arrives as itself',
      );
      for (const value of ['text', 7, null, undefined, { a: [1] }]) {
        equal(await rejection(pool.call.throwThis(value)), value);
      }
    },
  );

  it('rejects alone what cannot be cloned, argument or result, and names its path', ONE, async pool => {
    const bad = refused(pool.call.echo({ onClick: () => 1 }), 'NOT_CLONEABLE', /args\[0\]\.onClick/);
    equal(await pool.call.add(1, 1), 2);
    await bad;
    await refused(pool.call.returnFunction(), 'NOT_CLONEABLE', /rows\[0\]\.format/);
    equal(await pool.call.laneId(), 1, 'the lane after that');
  });

  it(
    'answers NO_FUNCTION for all but the module’s own functions, and says what there is',
    ONE,
    async pool => {
      const any = pool.call as unknown as Record<string, () => Promise<unknown>>;
      await refused(any.nope(), 'NO_FUNCTION', /`nope`.*It has /);
      await refused(any.AClass(), 'NO_FUNCTION', /a class/);
      await refused(any.aValue(), 'NO_FUNCTION', /a value/);
      for (const name of ['constructor', '__proto__', 'hasOwnProperty', ''])
        await refused(any[name](), 'NO_FUNCTION');
    },
  );

  cases.push({
    name: 'fails calls with LANE_START and the cause when the module is not there',
    run: async () => {
      const pool = subject.createPool({ lanes: 1, onError: () => {} }, 'missing');
      await Promise.all([
        refused(pool.call.add(1, 1), 'LANE_START'),
        refused(pool.call.add(1, 1), 'LANE_START'),
      ]);
      await pool.close();
    },
  });

  // ---- cancelling ---------------------------------------------------------------------------------------

  it('does not accept a call whose signal has fired', { lanes: { max: 1 } }, async pool => {
    const reason = new Error('before');
    const error = await rejection(pool.with({ signal: AbortSignal.abort(reason) }).bump());
    check(error === reason, 'it rejects with the signal’s reason itself');
    equal(pool.stats().lanes.length, 0, 'lanes that were started for it');
  });

  it('never runs a call that was cancelled, or ran out of time, while it waited', PATIENT, async pool => {
    const [hold, stop] = [new AbortController(), new AbortController()];
    const held = rejection(pool.with({ signal: hold.signal }).untilCancelled());
    await until(() => pool.stats().running === 1);
    const waiting = range(20).map(() => rejection(pool.with({ signal: stop.signal }).bump()));
    const late = refused(pool.with({ deadlineMs: 5 }).bump(), 'DEADLINE', /`bump`.*5 ms/);
    stop.abort('no need');
    for (const reason of await Promise.all(waiting)) equal(reason, 'no need');
    await late;
    hold.abort('over');
    await held;
    equal(await pool.call.counted(), 0, 'calls that ran');
  });

  it('rejects a running call at once; its function’s signal fires with the reason', PATIENT, async pool => {
    const stop = new AbortController();
    const call = pool.with({ signal: stop.signal }).untilCancelled();
    await until(() => pool.stats().running === 1);
    stop.abort('enough');
    equal(await rejection(call), 'enough');
    equal(await pool.call.lastReason(), 'enough');
    equal(await pool.call.laneId(), 1, 'the lane that lives on');
  });

  it(
    'lets a synchronous loop see that its time is up, and does not take what it returns for done',
    PATIENT,
    async pool => {
      await pool.call.add(1, 1);
      await refused(pool.with({ deadlineMs: 10 }).loopUntilAborted(), 'DEADLINE', /`loopUntilAborted`/);
      equal(await pool.call.laneId(), 1, 'the lane that lives on');
    },
  );

  if (capabilities.parallel) {
    it('lets a synchronous loop see that its call was cancelled', PATIENT, async pool => {
      const stop = new AbortController();
      const call = pool.with({ signal: stop.signal }).loopUntilAborted();
      await until(() => pool.stats().running === 1);
      stop.abort('now');
      equal(await rejection(call), 'now');
      equal(await pool.call.laneId(), 1, 'the lane that lives on');
    });
  }

  it('replaces a lane whose function goes on after its grace; what waited runs in another', {
    lanes: 1,
    graceMs: 10,
  }, async pool => {
    const endless = capabilities.endable ? 'loopForever' : 'never';
    await pool.call.add(1, 1);
    const stop = new AbortController();
    const lost = rejection(pool.with({ signal: stop.signal })[endless]());
    await until(() => pool.stats().running === 1);
    const next = pool.call.laneId();
    stop.abort('stop');
    equal(await lost, 'stop');
    check((await next) > 1, 'the waiting call ran in a new lane');
  });

  it('lets others that run in such a lane finish, while its loop turns', {
    lanes: 1,
    concurrency: 2,
    graceMs: 40,
  }, async pool => {
    await pool.call.add(1, 1);
    const stop = new AbortController();
    const lost = rejection(pool.with({ signal: stop.signal }).never());
    const sibling = pool.call.later('sibling', 60);
    await until(() => pool.stats().running === 2);
    stop.abort('stop');
    await lost;
    equal(await sibling, 'sibling');
  });

  // ---- lanes --------------------------------------------------------------------------------------------

  it('runs as many calls at once in a lane as concurrency says, and no more', {
    lanes: 1,
    concurrency: 3,
    graceMs: 60_000,
  }, async pool => {
    const stop = new AbortController();
    const held = range(5).map(() => rejection(pool.with({ signal: stop.signal }).untilCancelled()));
    await until(() => pool.stats().running === 3);
    await pause(5);
    equal([pool.stats().running, pool.stats().queued], [3, 2], 'running and queued');
    stop.abort('over');
    await Promise.all(held);
  });

  it('counts what is queued, running, done and failed', PATIENT, async pool => {
    const stop = new AbortController();
    const held = rejection(pool.with({ signal: stop.signal }).untilCancelled());
    const others = [pool.call.add(1, 1), rejection(pool.call.throwOwn('type'))];
    await until(() => pool.stats().running === 1);
    const { queued, running, done, failed, lanes } = pool.stats();
    equal({ queued, running, done, failed }, { queued: 2, running: 1, done: 0, failed: 0 });
    equal(lanes, [{ id: 1, state: 'up', running: 1 }]);
    stop.abort('over');
    await Promise.all([held, ...others]);
    await until(() => pool.stats().running === 0);
    equal([pool.stats().queued, pool.stats().done, pool.stats().failed], [0, 1, 2]);
  });

  it('broadcasts once to every lane that is up or starting', { lanes: 3 }, async pool => {
    equal((await pool.broadcast.laneId()).sort(), [1, 2, 3]);
    equal(await pool.broadcast.bump(), capabilities.ownState ? [1, 1, 1] : [1, 2, 3]);
  });

  it('runs calls of one key one at a time, in order, on one lane', {
    lanes: 2,
    concurrency: 4,
  }, async pool => {
    const calls = range(30).map(i => pool.with({ key: i % 3 }).append(i % 3, i));
    const results = await Promise.all(calls);
    for (const { atOnce } of results) equal(atOnce, 1);
    for (const key of range(3))
      equal(
        results[27 + key].list,
        range(10).map(i => 3 * i + key),
      );
  });

  it('maps inputs to results in order, and gives failures with their inputs', { lanes: 2 }, async pool => {
    const results: unknown[] = [];
    for await (const result of pool.map('echo', range(200))) results.push(result);
    equal(results, range(200));
    for await (const result of pool.map('throwThis', ['bad'], { errors: 'return' })) {
      equal(result, { status: 'rejected', index: 0, input: 'bad', reason: 'bad' });
    }
  });

  if (capabilities.parallel) {
    it('keeps no call waiting behind a blocked lane while another is free', { lanes: 2 }, async pool => {
      await pool.broadcast.add(1, 1);
      let blocked = true;
      const slow = pool.call.block(150).then(() => {
        blocked = false;
      });
      equal(await Promise.all(range(200).map(i => pool.call.add(i, 0))), range(200));
      check(blocked, 'the short calls came before the long one was over');
      await slow;
    });

    it('keeps the event loops of its lanes turning while they are idle', ONE, async pool => {
      await pool.call.startTicking();
      const before = await pool.call.ticksSoFar();
      await pause(60);
      check((await pool.call.ticksSoFar()) > before, 'timers ran in the idle lane');
    });
  }

  // ---- loss ---------------------------------------------------------------------------------------------

  if (capabilities.exits) {
    it('fails with LANE_LOST what a lost lane had begun; what it had not runs elsewhere', ONE, async pool => {
      await pool.call.add(1, 1);
      const lost = refused(pool.call.exit(), 'LANE_LOST', /while it ran `exit`/);
      const others = range(50).map(i => pool.call.add(i, 1));
      await lost;
      equal(
        await Promise.all(others),
        range(50).map(i => i + 1),
      );
      check((await pool.call.laneId()) > 1, 'the lane was replaced');
    });

    it('runs an idempotent call again as often as retries says, and no other', { lanes: 1 }, async pool => {
      await refused(pool.with({ idempotent: true, retries: 2 }).exit(), 'LANE_LOST', /as often as `retries`/);
      equal(await pool.call.laneId(), 4, 'the lane after three lost ones');
      await refused(pool.call.exit(), 'LANE_LOST', /not run again/);
      equal(await pool.call.laneId(), 5, 'the lane after one more lost one');
    });
  }

  // ---- streams and callbacks ----------------------------------------------------------------------------

  it('gives a stream of results in order, then what the generator threw', ONE, async pool => {
    const seen: number[] = [];
    const read = async () => {
      for await (const n of pool.stream.numbersTo(5_000, 3_000)) seen.push(n);
    };
    const error = await rejection(read());
    check(error instanceof RangeError && error.message === 'no item 3000', String(error));
    equal(seen, range(3_000));
  });

  it('lets the generator of a stream clean up when its reader leaves', ONE, async pool => {
    const before = await pool.call.timesCleanedUp();
    for await (const n of pool.stream.numbersTo(100_000, -1)) if (n === 5) break;
    equal(await pool.call.timesCleanedUp(), before + 1);
  });

  it('reads a stream among the arguments, and closes it', ONE, async pool => {
    let closed = false;
    async function* numbers() {
      try {
        yield* range(3_000);
      } finally {
        closed = true;
      }
    }
    equal(await pool.call.sum(numbers()), (2_999 * 3_000) / 2);
    check(closed, 'the source was not closed');
  });

  it('calls callbacks, awaited and one-way, before the call settles', ONE, async pool => {
    let told = 0;
    const done = callback(() => void told++, { oneWay: true });
    equal(
      await pool.call.ask(
        callback(async i => 2 * i),
        done,
        5,
      ),
      [0, 2, 4, 6, 8],
    );
    equal(told, 1);
  });

  // ---- limits and the end -------------------------------------------------------------------------------

  it('refuses with QUEUE_FULL what is past maxQueue, and loses nothing that was accepted', {
    lanes: 1,
    maxQueue: 2,
  }, async pool => {
    const accepted = range(3).map(i => pool.call.add(i, 0));
    await refused(pool.call.add(4, 0), 'QUEUE_FULL', /`maxQueue` is 2/);
    equal(await Promise.all(accepted), range(3));
    equal(await pool.call.add(5, 0), 5);
  });

  it('close() refuses new calls and drains those accepted', ONE, async pool => {
    const accepted = [pool.call.later('a', 5), pool.call.later('b', 5)];
    const closed = pool.close();
    await refused(pool.call.add(1, 1), 'CLOSED');
    equal(await Promise.all(accepted), ['a', 'b']);
    await Promise.all([closed, pool.close()]);
    equal(pool.stats().lanes.length, 0, 'lanes left');
  });

  it('destroy() rejects all that is unsettled, with its reason as the cause, also while lanes start', {
    lanes: 2,
  }, async pool => {
    const calls = range(10).map(() => refused(pool.call.untilCancelled(), 'CLOSED'));
    const destroyed = pool.destroy('enough');
    for (const { cause } of await Promise.all(calls)) equal(cause, 'enough');
    await Promise.all([destroyed, pool.destroy(), pool.close()]);
    await refused(pool.call.add(1, 1), 'CLOSED');
    equal(pool.stats().lanes.length, 0, 'lanes left');
  });

  it('destroy() ends functions that never return', { lanes: 1 }, async pool => {
    const endless = refused(capabilities.endable ? pool.call.loopForever() : pool.call.never(), 'CLOSED');
    await until(() => pool.stats().running === 1);
    await pool.destroy();
    await endless;
  });

  return cases;
}
