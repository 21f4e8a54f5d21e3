/* Draws the report of the pipelining study. Runs in the reader's browser, from the data that the page carries. */
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const { Chart } = globalThis;
  const SUBJECT = 'ours';
  const nameOf = contender => data.contenders[contender]?.name ?? contender;
  const titleOf = (list, name) => list.find(one => one.name === name)?.title ?? name;
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  /** The baseline in red, ours in blue, as the study of 2008 drew them. */
  const colorOf = contender => style(contender === SUBJECT ? '--is' : '--was');
  const seconds = ms => `${(ms / 1000).toFixed(ms < 99.5 ? 3 : 2)} s`;
  const times = value => (value === null || !Number.isFinite(value) ? '–' : `${value.toFixed(2)} ×`);

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const row = (tag, cells) =>
    element(
      'tr',
      {},
      ...cells.map(([text, kind = '', small = '']) => {
        const cell = element(tag, { class: kind }, text);
        if (small !== '') cell.append(' ', element('small', {}, small));
        return cell;
      }),
    );
  const table = (parent, head, rows) => {
    const made = element('table', {}, row('th', head), ...rows.map(cells => row('td', cells)));
    parent.append(element('div', { class: 'scroll' }, made));
  };

  const charts = [];
  /** A figure with a caption; the chart is drawn anew when light turns to dark. */
  const figure = (parent, title, note, height, makeConfig) => {
    const canvas = element('canvas', { role: 'img', 'aria-label': title });
    const box = element('div', { class: 'canvas', style: `height:${height}px` }, canvas);
    const caption = element('figcaption', {}, title, ' ', element('small', {}, note));
    parent.append(element('figure', {}, caption, box));
    charts.push({ canvas, makeConfig, chart: null });
  };
  const drawAll = () => {
    Chart.defaults.color = style('--text');
    Chart.defaults.borderColor = style('--line');
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    for (const one of charts) {
      one.chart?.destroy();
      one.chart = new Chart(one.canvas, one.makeConfig());
    }
    document.documentElement.dataset.charts = String(charts.length);
  };
  const timeAxis = {
    type: 'linear',
    min: 0,
    title: { display: true, text: 'seconds since the first packet' },
  };
  const legend = { position: 'bottom', labels: { boxWidth: 10, boxHeight: 10, usePointStyle: true } };

  const drawBars = () => {
    if (data.bars.length === 0 || data.mode === 'smoke') return;
    const parent = document.getElementById('bars');
    parent.append(element('h2', {}, 'Bars'));
    const tone = verdict => (verdict === 'met' ? 'met' : verdict === 'missed' ? 'missed' : 'doubt');
    table(
      parent,
      [['bar'], ['on'], ['wanted', 'number'], ['got', 'number'], ['verdict'], ['where']],
      data.bars.map(bar => [
        [bar.what],
        [bar.over, '', `of ${bar.cells.length}`],
        [`≥ ${times(bar.wanted)}`, 'number'],
        [times(bar.got), 'number'],
        [bar.verdict, tone(bar.verdict)],
        [bar.where],
      ]),
    );
  };

  /** Where a packet is drawn: a row for each connection, requests below, responses above; two runs side by side. */
  const heightOf = (connection, isUp, at) => connection + (isUp ? -0.2 : 0.2) + (at === 0 ? 0.05 : -0.05);

  const drawPackets = (parent, title, runs) => {
    const rows = Math.max(...runs.flatMap(run => run.packets.map(([, , , connection]) => connection))) + 1;
    const points = (packets, at, wanted) =>
      packets
        .filter(([, , kind]) => (kind === 'payload') === wanted)
        .map(([ms, up, , connection]) => ({ x: ms / 1000, y: heightOf(connection, up === 1, at) }));
    const note =
      'a dot is a packet; of each connection, below: to the server, above: from it; small and pale: no payload';
    figure(parent, title, note, 380, () => ({
      type: 'scatter',
      data: {
        datasets: runs.flatMap((run, at) => [
          {
            label: `${nameOf(run.contender)}, ${seconds(run.loadMs)}`,
            data: points(run.packets, at, true),
            backgroundColor: colorOf(run.contender),
            borderWidth: 0,
            pointRadius: 2,
          },
          {
            label: '',
            data: points(run.packets, at, false),
            backgroundColor: `${colorOf(run.contender)}66`,
            borderWidth: 0,
            pointRadius: 1,
          },
        ]),
      },
      options: {
        plugins: {
          legend: { ...legend, labels: { ...legend.labels, filter: ({ text }) => text !== '' } },
          tooltip: { enabled: false },
        },
        scales: {
          x: timeAxis,
          y: {
            min: -0.5,
            max: rows - 0.5,
            reverse: false,
            afterBuildTicks: axis => {
              axis.ticks = Array.from({ length: rows }, (_, value) => ({ value }));
            },
            ticks: { callback: value => `connection ${value + 1}` },
            grid: { display: false },
          },
        },
      },
    }));
  };

  const drawShares = (parent, title, runs) => {
    figure(parent, title, 'proportion of all packets of the load that have gone by', 380, () => ({
      type: 'line',
      data: {
        datasets: runs.map(run => {
          const { length } = run.packets;
          return {
            label: `${nameOf(run.contender)}, ${length} packets`,
            data: run.packets.map(([ms], i) => ({ x: ms / 1000, y: (100 * (i + 1)) / length })),
            borderColor: colorOf(run.contender),
            backgroundColor: colorOf(run.contender),
            borderWidth: 2,
            pointRadius: 0,
            stepped: true,
          };
        }),
      },
      options: {
        plugins: { legend, tooltip: { enabled: false } },
        scales: {
          x: timeAxis,
          y: { min: 0, max: 100, title: { display: true, text: '% of packets' } },
        },
      },
    }));
  };

  const drawPictures = () => {
    if (data.pictures.length === 0) return;
    const parent = document.getElementById('pictures');
    parent.append(element('h2', {}, 'Packets over time'));
    for (const { setting, runs } of data.pictures) {
      const what = `${titleOf(data.profiles, setting.profile)}: ${titleOf(data.pages, setting.page)}`;
      const pair = element('div', { class: 'pair' });
      parent.append(element('h3', {}, `${what}, up to ${setting.quota} requests on a connection`), pair);
      drawPackets(pair, 'Packets of each connection', runs);
      drawShares(pair, 'Packets against time', runs);
    }
  };

  const drawLoads = () => {
    const parent = document.getElementById('loads');
    const groups = Map.groupBy(data.cells, ({ setting }) =>
      JSON.stringify([setting.profile, setting.lossPercent, setting.quota]),
    );
    const contenders = Object.keys(data.contenders).filter(name =>
      data.cells.some(cell => cell.contender === name),
    );
    parent.append(element('h2', {}, 'Page loads and packets'));
    for (const its of groups.values()) {
      const { profile, lossPercent, quota } = its[0].setting;
      const loss = lossPercent === 0 ? '' : `, ${lossPercent} % of packets lost`;
      const settings = data.profiles.find(one => one.name === profile)?.settings ?? '';
      parent.append(
        element(
          'h3',
          {},
          `${titleOf(data.profiles, profile)}${loss}, up to ${quota} requests on a connection`,
        ),
      );
      parent.append(element('p', {}, element('small', {}, settings)));
      const head = [['page'], ['floor', 'number'], ...contenders.map(name => [nameOf(name), 'number'])];
      const rows = [
        ...Map.groupBy(its, ({ setting }) => JSON.stringify([setting.page, setting.mix])).values(),
      ].map(cells => {
        const { page, mix } = cells[0].setting;
        const best = Math.min(...cells.map(cell => cell.figures?.loadMs.median ?? Number.POSITIVE_INFINITY));
        return [
          [titleOf(data.pages, page), '', titleOf(data.mixes, mix)],
          [seconds(cells[0].floorMs), 'number'],
          ...contenders.map(name => {
            const cell = cells.find(one => one.contender === name);
            if (cell === undefined) return ['', 'number'];
            if (cell.figures === null) return ['failed', 'number missed'];
            const { loadMs, packets } = cell.figures;
            const kind = `number${name === SUBJECT ? ' ours' : ''}${loadMs.median === best ? ' best' : ''}`;
            return [
              seconds(loadMs.median),
              kind,
              packets.median > 0 ? `${Math.round(packets.median)} packets` : '',
            ];
          }),
        ];
      });
      table(parent, head, rows);
    }
  };

  const drawRates = () => {
    if (data.rates.length === 0) return;
    const parent = document.getElementById('rates');
    parent.append(element('h2', {}, 'Requests per second'));
    parent.append(element('p', {}, 'Responses of 1 KiB, 64 requests in flight, one server.'));
    table(
      parent,
      [['over'], ['contender'], ['requests/s', 'number'], ['min – max', 'number']],
      data.rates.map(({ over, name, perSecond }) => [
        [over],
        [name],
        [Math.round(perSecond.median).toLocaleString('en'), 'number'],
        [
          [perSecond.min, perSecond.max].map(one => Math.round(one).toLocaleString('en')).join(' – '),
          'number',
        ],
      ]),
    );
  };

  const drawPages = () => {
    const parent = document.getElementById('pages');
    parent.append(element('h2', {}, 'Pages and contenders'));
    table(
      parent,
      [['page'], ['objects', 'number'], ['kB', 'number'], ['found in waves of']],
      data.pages.map(page => [
        [page.title],
        [String(page.objects), 'number'],
        [(page.bytes / 1000).toFixed(0), 'number'],
        [page.waves.join(', ')],
      ]),
    );
    table(
      parent,
      [['contender'], ['what it is']],
      Object.values(data.contenders).map(({ name, settings }) => [[name], [settings]]),
    );
  };

  drawBars();
  drawPictures();
  drawLoads();
  drawRates();
  drawPages();
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
})();
