import type { Callback } from './call/callback.ts';

/** A task module as a type: `typeof import('./tasks.js')`, or an interface of your own. */
export type TaskModule = object;

/** Why an argument does not compile. */
export interface NotCloneable<Why extends string> {
  readonly '~hotlane': Why;
}

/** What may be passed for a parameter: the same; for a function a callback, and no symbol. */
export type Argument<T> = T extends (...args: infer A) => infer R
  ?
      | Callback<(...args: A) => R | Awaited<R>>
      | NotCloneable<'a plain function cannot be passed to a lane: pass callback(fn)'>
  : T extends symbol
    ? NotCloneable<'a symbol cannot be passed to a lane'>
    : T;

export type Arguments<A extends readonly unknown[]> = { [I in keyof A]: Argument<A[I]> };

/** A module's function as the host calls it: the same arguments, and a promise of the result. */
export type Remote<F> = F extends (...args: infer A) => infer R
  ? (...args: Arguments<A>) => Promise<Awaited<R>>
  : never;

/** The names of a module's functions; classes and other values are left out. */
export type FunctionNames<M> = {
  [K in keyof M]: M[K] extends (...args: any[]) => unknown ? K : never;
}[keyof M] &
  string;

/** A module's functions, each as the host calls it. */
export type Calls<M> = { readonly [K in FunctionNames<M>]: Remote<M[K]> };

/** What a function gives when its results are a stream. */
type Items<R> = 0 extends 1 & R // any: of a pool that was not told its module's type
  ? any
  : Awaited<R> extends AsyncIterable<infer T>
    ? T
    : Awaited<R> extends Iterable<infer T>
      ? T
      : never;

/** A stream of results. Leaving its loop, or `return()`, lets the function that makes them clean up. */
export interface ResultStream<T> extends AsyncIterableIterator<T>, AsyncDisposable {
  return(): Promise<IteratorResult<T, undefined>>;
}

/** A module's functions whose results can be iterated, each as the host calls it for a stream of them. */
export type Streams<M> = {
  readonly [K in FunctionNames<M> as M[K] extends (...args: any[]) => infer R
    ? Awaited<R> extends string
      ? never
      : Awaited<R> extends AsyncIterable<unknown> | Iterable<unknown>
        ? K
        : never
    : never]: M[K] extends (...args: infer A) => infer R
    ? (...args: Arguments<A>) => ResultStream<Items<R>>
    : never;
};

/** A module's functions, each blocking until its result is there. */
export type SyncCalls<M> = {
  readonly [K in FunctionNames<M>]: M[K] extends (...args: infer A) => infer R
    ? (...args: Arguments<A>) => Awaited<R>
    : never;
};

/** The same for `broadcast`: one result from each lane that is up. */
export type Broadcasts<M> = {
  readonly [K in FunctionNames<M>]: M[K] extends (...args: infer A) => infer R
    ? (...args: Arguments<A>) => Promise<Awaited<R>[]>
    : never;
};

/** What a function takes when it is given one argument: what `map` feeds it. */
export type Input<F> = F extends (...args: infer A) => unknown ? Argument<A[0]> : never;
export type Output<F> = F extends (...args: any[]) => infer R ? Awaited<R> : never;

/** What a pool calls when it was not told its module's type: any function, with any arguments. */
export interface AnyModule {
  readonly [name: string]: (...args: any[]) => any;
}
