import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { contenders } from '../contenders/all.ts';
import type { Opened } from '../contenders/contender.ts';
import type { Page } from '../pages/page.ts';
import { loadInBrowser } from './browser.ts';
import { loadPage, type PageLoad } from './load-page.ts';
import { measureRate } from './measure-rate.ts';
import type { Answer, Loaded, LoadTask, Rated, Task } from './messages.ts';
import { warmUp } from './warm-up.ts';

// The client's end: does what it is told, line by line, one at a time, and answers with a line for each. It ends when
// its input does.
const manifest = process.argv[2] ?? '';
const pages = JSON.parse(readFileSync(manifest, 'utf8')) as readonly Page[];
await warmUp(pages[0]!, dirname(manifest));

async function run(task: Task): Promise<Loaded | Rated> {
  const contender = contenders[task.contender];
  if (contender === undefined) throw new Error(`There is no contender \`${task.contender}\`.`);
  if (contender.open === null) {
    if (task.do === 'rate') throw new Error('A browser is not measured by its requests per second.');
    const url = `${task.origin}${pageOf(task).objects[0]!.path}`;
    return { ...(await loadInBrowser(url, task.timeoutMs)), stats: null };
  }
  const opened = await contender.open(task.origin, task.quota);
  try {
    if (task.do === 'rate') return await measureRate(opened, task);
    const loaded = await inTime(task, opened);
    return { ...loaded, stats: opened.stats?.() ?? null };
  } catch (error) {
    await opened.dispatcher.destroy();
    throw error;
  } finally {
    await opened.dispatcher.close().catch(() => {});
  }
}

function pageOf({ page }: LoadTask): Page {
  const found = pages.find(one => one.name === page);
  if (found === undefined) throw new Error(`There is no page \`${page}\`.`);
  return found;
}

async function inTime(task: LoadTask, { dispatcher, blocking }: Opened): Promise<PageLoad> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The page was not there within ${task.timeoutMs} ms.`)),
      task.timeoutMs,
    );
  });
  try {
    return await Promise.race([
      loadPage({ page: pageOf(task), origin: task.origin, dispatcher, blocking }),
      late,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer: Answer;
  try {
    answer = { ok: true, result: await run(JSON.parse(line) as Task) };
  } catch (error) {
    answer = { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
