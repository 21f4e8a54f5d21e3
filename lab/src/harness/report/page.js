/* Draws the charts of a study's report. Runs in the reader's browser, from the data that the page carries. */
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const { Chart } = globalThis;
  const COLORS = [
    '#0969da',
    '#bf3989',
    '#1a7f37',
    '#bc4c00',
    '#8250df',
    '#6e7781',
    '#0a7ea4',
    '#9a6700',
    '#d1242f',
    '#57606a',
    '#4d2d00',
    '#116329',
    '#6639ba',
  ];
  const names = Object.keys(data.contenders);
  const colorOf = contender => COLORS[names.indexOf(contender) % COLORS.length];
  const nameOf = contender => data.contenders[contender].name;
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const digits = value => {
    const size = Math.abs(value);
    return value.toFixed(size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 3);
  };
  const count = value => {
    if (value >= 999.5e3) return `${digits(value / 1e6)}M`;
    return value >= 999.5 ? `${digits(value / 1e3)}k` : digits(value);
  };
  const microseconds = us => {
    if (us >= 999_500) return `${digits(us / 1e6)} s`;
    return us >= 999.5 ? `${digits(us / 1e3)} ms` : `${digits(us)} µs`;
  };
  const show = (value, unit) => {
    if (value === null || !Number.isFinite(value)) return '–';
    if (unit === 'µs') return microseconds(value);
    if (unit === 'ms') return microseconds(value * 1000);
    if (unit === '×' || unit === 'MiB' || unit === 'MiB/s') return `${digits(value)} ${unit}`;
    return count(value);
  };

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
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

  /** On a logarithmic scale only these get a label: of a wide one the powers of ten, so that labels do not overlap. */
  const isRound = (value, range = 1) =>
    (range > 100 ? /^10*$/ : /^[125]0*$/).test(String(value).replace(/^0?\.0*/, ''));
  const scaleFor = (values, title, wantsLog) => {
    const positive = values.filter(value => value > 0);
    const range = positive.length > 0 ? Math.max(...positive) / Math.min(...positive) : 1;
    const isWide = range > 20;
    const type = wantsLog || isWide ? 'logarithmic' : 'linear';
    const ticks = {
      maxRotation: 0,
      callback: value => (type === 'linear' || isRound(value, range) ? count(value) : ''),
    };
    return {
      type,
      title: { display: true, text: title },
      ticks,
      ...(type === 'linear' ? { beginAtZero: true } : {}),
    };
  };

  const drawBars = (parent, key, workload) => {
    const [[metric, { title, unit, better }]] = Object.entries(workload.metrics);
    const cells = data.cells.filter(cell => cell.workload === key && cell.figures[metric]?.median != null);
    if (cells.length === 0) return;
    cells.sort(
      (a, b) => (better === 'more' ? -1 : 1) * (a.figures[metric].median - b.figures[metric].median),
    );
    const values = cells.map(cell => cell.figures[metric].median);
    const note = `${title}; ${better} is better`;
    figure(parent, workload.title, note, 60 + 26 * cells.length, () => ({
      type: 'bar',
      data: {
        labels: cells.map(cell => nameOf(cell.contender)),
        datasets: [{ data: values, backgroundColor: cells.map(cell => colorOf(cell.contender)) }],
      },
      options: {
        indexAxis: 'y',
        plugins: {
          legend: { display: false },
          tooltip: {
            callbacks: {
              label: ({ dataIndex }) => {
                const { median, min, max } = cells[dataIndex].figures[metric];
                return `${show(median, unit)} (${show(min, unit)} – ${show(max, unit)})`;
              },
            },
          },
        },
        scales: {
          x: scaleFor(values, unit === '1/s' ? 'per second' : unit, false),
          y: { ticks: { autoSkip: false } },
        },
      },
      plugins: [valueLabels(values.map(value => show(value, unit)))],
    }));
  };

  /** The value at the end of each bar, so that a log scale misleads nobody. */
  const valueLabels = labels => ({
    id: 'values',
    afterDatasetsDraw(chart) {
      const { ctx, chartArea } = chart;
      ctx.save();
      ctx.fillStyle = style('--text');
      ctx.font = '11px system-ui, sans-serif';
      ctx.textBaseline = 'middle';
      chart.getDatasetMeta(0).data.forEach((bar, i) => {
        const width = ctx.measureText(labels[i]).width;
        const fits = bar.x + width + 8 < chartArea.right;
        if (!fits) ctx.fillStyle = '#fff';
        ctx.fillText(labels[i], fits ? bar.x + 4 : bar.x - width - 4, bar.y);
        ctx.fillStyle = style('--text');
      });
      ctx.restore();
    },
  });

  const drawLines = (parent, title, note, axes, lines) => {
    if (lines.length === 0) return;
    const values = lines.flatMap(line => line.points.map(([, y]) => y));
    figure(parent, title, note, 300, () => ({
      type: 'line',
      data: {
        datasets: lines.map(({ contender, points }) => ({
          label: nameOf(contender),
          data: points.map(([x, y]) => ({ x, y })),
          borderColor: colorOf(contender),
          backgroundColor: colorOf(contender),
          borderWidth: contender === data.subject ? 3 : 1.5,
          pointRadius: 2.5,
        })),
      },
      options: {
        interaction: { mode: 'nearest', intersect: false },
        plugins: { legend: { position: 'bottom', labels: { boxWidth: 10, boxHeight: 10 } } },
        scales: {
          x: {
            type: axes.logX ? 'logarithmic' : 'linear',
            title: { display: true, text: axes.x },
            ticks: { maxRotation: 0, callback: value => (!axes.logX || isRound(value) ? count(value) : '') },
          },
          y: scaleFor(values, axes.y, axes.logY),
        },
      },
    }));
  };

  const drawGroup = (group, keys) => {
    const grid = element('div', { class: 'grid' });
    document.getElementById('charts').append(element('h2', {}, group), grid);
    for (const key of keys) drawBars(grid, key, data.workloads[key]);
    drawAgainstCount(grid, keys, /^(.*?)([\d,]+) in flight$/, 'in flight', 'throughput by calls in flight');
    drawAgainstCount(grid, keys, /^(.*?), (\d+) lanes?/, 'lanes', 'throughput by lanes');
    for (const curve of data.curves.filter(one => one.group === group)) drawCurve(grid, curve);
    for (const key of keys) {
      for (const [name, axes] of Object.entries(data.workloads[key].series ?? {})) {
        if (name === 'latency' && !/^Calls$/.test(group)) continue;
        const lines = data.cells
          .filter(cell => cell.workload === key && cell.series?.[name])
          .map(cell => ({ contender: cell.contender, points: cell.series[name] }));
        const points = lines.map(line => ({
          ...line,
          points: name === 'latency' ? line.points.filter(([x]) => x <= 99.9) : line.points,
        }));
        drawLines(grid, `${data.workloads[key].title}: ${axes.title}`, '', axes, points);
      }
    }
  };

  /** A curve that the study itself names: one metric of several workloads. */
  const drawCurve = (grid, curve) => {
    const lines = names.flatMap(contender => {
      const points = curve.points.flatMap(([x, key]) => {
        const cell = data.cells.find(one => one.workload === key && one.contender === contender);
        const value = cell?.figures[curve.metric]?.median;
        return value == null ? [] : [[x, value]];
      });
      return points.length < 2 ? [] : [{ contender, points }];
    });
    drawLines(grid, curve.title, '', curve, lines);
  };

  /** Workloads that differ in one number only make a curve. */
  const drawAgainstCount = (grid, keys, pattern, x, title) => {
    const families = new Map();
    for (const key of keys) {
      const found = pattern.exec(data.workloads[key].title);
      if (found === null) continue;
      const family = families.get(found[1]) ?? [];
      families.set(found[1], [...family, [Number(found[2].replaceAll(',', '')), key]]);
    }
    for (const [what, members] of families) {
      if (members.length < 3) continue;
      members.sort(([a], [b]) => a - b);
      const metric = Object.keys(data.workloads[members[0][1]].metrics)[0];
      const lines = names.flatMap(contender => {
        const points = members.flatMap(([n, key]) => {
          const cell = data.cells.find(one => one.workload === key && one.contender === contender);
          const value = cell?.figures[metric]?.median;
          return value == null ? [] : [[n, value]];
        });
        return points.length < 2 ? [] : [{ contender, points }];
      });
      drawLines(
        grid,
        `${what.replace(/[, ]+$/, '')}: ${title}`,
        'more is better',
        { x, y: 'calls/s', logX: true, logY: true },
        lines,
      );
    }
  };

  const drawVerdicts = () => {
    const { noise } = data.control;
    document
      .getElementById('noise')
      .append(
        noise.tooNoisy
          ? `The machine was too noisy to judge: ${noise.reasons.join('; ')}.`
          : 'The machine was quiet enough to judge.',
      );
    if (noise.tooNoisy) document.getElementById('noise').className = 'warning';
    if (data.bars.length === 0 || data.mode === 'smoke') return;
    const table = element('table');
    table.append(
      element(
        'tr',
        {},
        ...['bar', 'wanted', 'got', 'worst – best round', 'verdict'].map(text => element('th', {}, text)),
      ),
    );
    for (const bar of data.bars) {
      const metric = data.workloads[bar.workload]?.metrics[bar.metric];
      const isAbsolute = bar.against === 'absolute';
      const print = value => show(value, isAbsolute ? metric?.unit : '×');
      const sign = isAbsolute && metric?.better === 'less' ? '≤' : '≥';
      const tone = bar.verdict === 'met' ? 'met' : bar.verdict === 'missed' ? 'missed' : 'doubt';
      const cells = [
        bar.what,
        `${sign} ${print(bar.wanted)}`,
        print(bar.got),
        `${print(bar.worst)} – ${print(bar.best)}`,
      ];
      table.append(
        element(
          'tr',
          {},
          ...cells.map((text, i) => element('td', i > 0 ? { class: 'number' } : {}, text)),
          element('td', { class: tone }, bar.verdict),
        ),
      );
    }
    document.getElementById('bars').append(element('h2', {}, 'Bars'), table);
  };

  drawVerdicts();
  const groups = new Map();
  for (const [key, { group }] of Object.entries(data.workloads))
    groups.set(group, [...(groups.get(group) ?? []), key]);
  for (const [group, keys] of groups) drawGroup(group, keys);
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
})();
