import { BUDGET_BYTES, Budget, NO_CELL } from '../fleet/budget.ts';

// On the global object: several copies of this file in one thread share it.
const BUDGET: unique symbol = Symbol.for('hotlane.budget') as never;
const shared = globalThis as { [BUDGET]?: Budget };

/** The one budget of all pools of this process, or page. */
export function processBudget(cores: number): Budget {
  return shared[BUDGET] ?? joinBudget(new SharedArrayBuffer(BUDGET_BYTES), NO_CELL, cores);
}

/** In a lane: takes part in the budget of the process. */
export function joinBudget(buffer: SharedArrayBuffer, cell: number, cores: number): Budget {
  const budget = new Budget(buffer, cell);
  budget.allow(cores);
  shared[BUDGET] = budget;
  return budget;
}
