/** Held by the compiler: `npm run test:types`. A line that must not compile is marked so, and the mark must be needed. */
import { type Calls, callback, createPool, type MapOutcome, type ResultStream } from 'hotlane';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._: Equal<A, B> extends true ? [] : ['types differ', A, B]): void {}

interface Tasks {
  fib(n: number): number;
  load(path: string, options?: { deep: boolean }): Promise<Uint8Array>;
  greet: (name: string, ...more: string[]) => string;
  each(list: number[], visit: (n: number) => void): void;
  tag(name: symbol): void;
  nothing(): void;
  deep(options: { onStep: (n: number) => Promise<string>; list: Map<string, Date> }): void;
  rows(path: string): Generator<{ id: number }>;
  later(): Promise<AsyncIterable<string>>;
  read(lines: AsyncIterable<string>): Promise<number>;
  readonly version: string;
  Shape: new (n: number) => object;
  Parser: typeof Map;
}

const pool = createPool<Tasks>(new URL('./tasks.js', import.meta.url), { lanes: { min: 1, max: 4 } });

// Results are promises of what the function returns, promises in them unwrapped.
same<ReturnType<typeof pool.call.fib>, Promise<number>>();
same<ReturnType<typeof pool.call.load>, Promise<Uint8Array>>();
same<ReturnType<typeof pool.call.nothing>, Promise<void>>();
same<Parameters<typeof pool.call.greet>, [name: string, ...more: string[]]>();
same<
  keyof Calls<Tasks>,
  'fib' | 'load' | 'greet' | 'each' | 'tag' | 'nothing' | 'deep' | 'rows' | 'later' | 'read'
>();

void pool.call.fib(1);
void pool.call.load('x');
void pool.call.load('x', { deep: true });
void pool.with({ deadlineMs: 5 }).fib(1);
void pool.broadcast.fib(1).then((all: number[]) => all);

// @ts-expect-error an unknown name
void pool.call.fob(1);
// @ts-expect-error a wrong argument
void pool.call.fib('1');
// @ts-expect-error a missing argument
void pool.call.fib();
// @ts-expect-error an argument too many
void pool.call.fib(1, 2);
// @ts-expect-error an export that is no function
void pool.call.version;
// @ts-expect-error a class
void pool.call.Shape;
// @ts-expect-error a class, the same
void pool.call.Parser;
// @ts-expect-error a plain function as an argument
void pool.call.each([1], (n: number) => void n);
// @ts-expect-error a symbol as an argument
void pool.call.tag(Symbol('x'));
// @ts-expect-error the same through `with`
void pool.with({}).fib('1');
// @ts-expect-error the result is a promise
const sync: number = pool.call.fib(1);
void sync;
// @ts-expect-error functions of the module cannot be replaced
pool.call.fib = () => Promise.resolve(1);
// @ts-expect-error an unknown option
createPool<Tasks>('./tasks.js', { threads: 4 });
// @ts-expect-error a placement that there is not
createPool<Tasks>('./tasks.js', { placement: 'moon' });

// Callbacks stand for functions, at any depth, and only with the right arguments.
void pool.call.each(
  [1],
  callback((n: number) => void n),
);
void pool.call.each(
  [1],
  callback(n => n.toFixed(), { oneWay: true }),
);
void pool.call.deep({ onStep: callback(async n => `${n}`), list: new Map([['a', new Date()]]) });
const takesText = callback((text: string) => void text);
// @ts-expect-error a callback that takes something else
void pool.call.each([1], takesText);
// @ts-expect-error an unknown option
callback(() => {}, { once: true });

// Streams: of what can be iterated, and nothing else.
same<ReturnType<typeof pool.stream.rows>, ResultStream<{ id: number }>>();
same<ReturnType<typeof pool.stream.later>, ResultStream<string>>();
same<keyof typeof pool.stream, 'load' | 'rows' | 'later'>();
void pool.streamWith({ window: 5 }).rows('x');
// @ts-expect-error a function with one result
void pool.stream.fib(1);
void pool.call.read(new ReadableStream<string>());
void pool.call.read((async function* () {})());

// Sync calls give the result itself.
same<ReturnType<typeof pool.sync.load>, Uint8Array>();
void pool.syncWith({ deadlineMs: 5 }).fib(1);
// @ts-expect-error nothing could fire it meanwhile
void pool.syncWith({ signal: new AbortController().signal });

// map: inputs and results from the function; with errors: 'return', outcomes.
const mapped = pool.map('fib', [1, 2]);
same<typeof mapped, AsyncGenerator<number, void, undefined>>();
const outcomes = pool.map('fib', [1, 2], { errors: 'return' });
same<typeof outcomes, AsyncGenerator<MapOutcome<number, number>, void, undefined>>();
// @ts-expect-error inputs of the wrong type
pool.map('fib', ['1']);
// @ts-expect-error an unknown name
pool.map('fob', [1]);

// A module's own type works the same.
const typed = createPool<typeof import('../fixtures/tasks.ts')>('./tasks.js');
same<ReturnType<typeof typed.call.add>, Promise<number>>();
// @ts-expect-error a class that the module exports
void typed.call.NotAFunction;
// @ts-expect-error a value that the module exports
void typed.call.answer;

// Without a type any function may be called.
const untyped = createPool('./tasks.js');
void untyped.call.whatever(1, 'x');
same<ReturnType<typeof untyped.stream.whatever>, ResultStream<any>>();

// A pool is disposed of with `await using`.
export async function disposed(): Promise<void> {
  await using short = createPool<Tasks>('./tasks.js');
  await short.call.fib(1);
}
