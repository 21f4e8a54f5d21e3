import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { contenders, whyMissing } from '../contenders/all.ts';
import type { Page } from '../pages/page.ts';
import { loadPage } from './load-page.ts';

/** Loads a page from this very process, with each contender, so that no load that counts loads or compiles code. */
export async function warmUp(page: Page, root: string): Promise<void> {
  const server = createServer((request, response) => {
    response.end(readFileSync(join(root, request.url ?? '')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  for (const contender of Object.values(contenders)) {
    if (contender.open === null || contender.isHttp2 || (await whyMissing(contender)) !== null) continue;
    const { dispatcher, blocking } = await contender.open(origin, 2);
    await loadPage({ page, origin, dispatcher, blocking });
    await dispatcher.close();
  }
  server.close();
}
