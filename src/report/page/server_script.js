// Draws the measurement of a server in the element "data". Numbers keep their value in data-value.
(() => {
const bench = ridge.data;
const {say, sentence, digits, count, milliseconds, rowsPerSecond, percentOf, make, section, bullets, warning, name,
       known, figure, figures, table, listTable, header, disturbed, canvas, draw, axis, plain, fifths, kDashes, span,
       whiskers} = ridge;

const points = (bench.points || []).map((point, i) => ({...point, member: `points.${i}`}));
const loadText = point => known(point.rate_per_s) ?
    say(`${digits(point.rate_per_s)} requests/s asked`) :
    say(point.concurrency === 1 ? '1 connection' : `${point.concurrency} connections`);

// Of a language model.
const tokenFigures = best => {
  const of = field => `${best.member}.tokens.${field}`, least = best.tokens.limit || {};
  const beside = (limit, percent) =>
      known(limit) ? `${say('limit')} ${milliseconds(limit)}${known(percent) ? `, ${percentOf(percent)}` : ''}` : '';
  return figures(
      figure('most tokens/s', count, of('output_tokens_per_s'), loadText(best)),
      known(best.percent_of_limit) ? figure('share of the limit', percentOf, `${best.member}.percent_of_limit`) : null,
      figure(
          'first token, median', milliseconds, of('ttft_ms.p50'), beside(least.ttft_ms, least.ttft_percent_of_limit)),
      figure('first token, p99', milliseconds, of('ttft_ms.p99')),
      figure('each token, median', milliseconds, of('tpot_ms.p50'), beside(least.tpot_ms, least.tpot_percent_of_limit)),
      bench.search && known(bench.search.highest_rate_per_s) ?
          figure(
              'highest rate within the goal', count, 'search.highest_rate_per_s',
              `p99 ≤ ${milliseconds(bench.search.p99_ms)}`) :
          null);
};

function title() {
  const speed = point => point.tokens ? point.tokens.output_tokens_per_s : point.throughput_per_s;
  const best = points.reduce((a, b) => speed(b) > speed(a) ? b : a, points[0]);
  const {search, limit} = bench;
  return [
    header(
        bench.model,
        [`${bench.server} ${bench.server_version}`, bench.url, say(`batch ${bench.batch}`), say(bench.payload)]
            .filter(part => part)
            .join(' · '),
        bench.interrupted ? warning('interrupted: the figures cover the time until then') : null,
        bench.ended_early ? warning(bench.ended_early) : null, disturbed(bench.disturbance),
        search ? make(
                     'p', sentence(`search.${search.limiter}`, search.sentence, {
                       rate: known(search.highest_rate_per_s) ? digits(search.highest_rate_per_s) : '–',
                       p99: milliseconds(search.p99_ms)
                     }),
                     {id: 'search'}) :
                 null),
    best && best.tokens ?
        tokenFigures(best) :
        figures(
            best ? figure('highest throughput', rowsPerSecond, `${best.member}.throughput_per_s`, loadText(best)) :
                   null,
            best ? figure('p99 there', milliseconds, `${best.member}.latency_ms.p99`) : null,
            search && known(search.highest_rate_per_s) ?
                figure(
                    'highest rate within the goal', count, 'search.highest_rate_per_s',
                    `p99 ≤ ${milliseconds(search.p99_ms)}`) :
                null,
            limit ? figure('at most', rowsPerSecond, 'limit.throughput_per_s', say(limit.limiter)) : null)
  ];
}

const pointTable = () => listTable('points', {
  last: [[
    '', point => point.client && point.client.bottleneck ?
        make('td', say('the client is the bottleneck'), {class: 'warn'}) :
        ''
  ]]
});

// Of a language model: first token and time per token over the tokens per second, and what the machine could do at
// best.
function tokens() {
  const shown = points.filter(point => point.tokens);
  if (shown.length === 0) return null;
  const [element, box] = canvas('token-chart', false);
  draw(element, c => {
    const order = [...shown].sort((a, b) => (a.rate_per_s || a.concurrency) - (b.rate_per_s || b.concurrency));
    const line = (label, read, colour, dash) => ({
      label: say(label),
      borderColor: colour,
      backgroundColor: colour,
      borderWidth: 2,
      borderDash: dash,
      pointRadius: 4,
      data: order.map(point => ({x: point.tokens.output_tokens_per_s, y: read(point.tokens), point}))
                .filter(each => known(each.y))
    });
    return {
      type: 'line',
      data: {
        datasets: [
          line('first token, median', t => (t.ttft_ms || {}).p50, c.memory, []),
          line('first token, p99', t => (t.ttft_ms || {}).p99, c.memory, kDashes[1]),
          line('each token, median', t => (t.tpot_ms || {}).p50, c.compute, [])
        ]
      },
      options: plain(
          c, {
            x: axis(c, 'tokens/s', {type: 'linear', min: 0, ticks: {callback: count}}),
            y: axis(c, 'time', {type: 'logarithmic', ticks: fifths(milliseconds)})
          },
          {
            callbacks: {
              label: item => `${item.dataset.label} ${milliseconds(item.raw.y)} · ${count(item.raw.x)} ${
                  say('tokens/s')} · ${loadText(item.raw.point)}`
            }
          }),
    };
  });
  const least = bench.token_limit;
  return section(
      'tokens', 'Tokens over the load', box, pointTable(),
      least ? ridge.quiet('Limits are derived from the model, its forms and this machine; shares compare means.') :
              null,
      least ? make(
                  'p', `${least.model} · ${least.weights} · ${least.cache} · ${least.device}`,
                  {class: 'quiet', translate: 'no'}) :
              null);
}

// Latency over the throughput that it was reached at, in the order of the load.
function curve() {
  if (points.length === 0 || bench.token_load) return null;
  const [element, box] = canvas('load-chart', false);
  element.dataset.points = points.length;
  draw(element, c => {
    const order = [...points].sort((a, b) => (a.rate_per_s || a.concurrency) - (b.rate_per_s || b.concurrency));
    const line = (percentile, colour, dash) => ({
      label: percentile,
      borderColor: colour,
      backgroundColor: colour,
      borderWidth: 2,
      borderDash: dash,
      pointRadius: 4,
      data: order.map(point => ({x: point.throughput_per_s, y: point.latency_ms[percentile], point}))
    });
    const goal = bench.search ? [{
      label: say('goal for p99'),
      borderColor: c.warn,
      borderWidth: 1.5,
      borderDash: kDashes[2],
      pointRadius: 0,
      pointHitRadius: 0,
      data: [0, Math.max(...points.map(point => point.throughput_per_s))].map(x => ({x, y: bench.search.p99_ms}))
    }] :
                                [];
    const rows = span(points.map(point => point.throughput_per_s));
    const errors = ['p50', 'p99'].flatMap((percentile, i) => {
      const times = points.map(point => point.latency_ms[percentile]),
            interval = point => (point.latency_ci95_ms || {})[percentile] || {};
      const colour = i === 0 ? c.memory : c.compute;
      return [
        whiskers('', colour, points.map(point => ({x: point.throughput_per_s, ...interval(point)})), span(times, 0.5)),
        whiskers(
            '', colour,
            points.map(point => ({y: point.latency_ms[percentile], ...(point.throughput_ci95_per_s || {})})), rows,
            true)
      ];
    });
    return {
      type: 'line',
      data: {
        datasets: [
          line('p50', c.memory, []), line('p99', c.compute, kDashes[1]), ...goal,
          ...errors.filter(error => error.data.length)
        ]
      },
      options: plain(
          c, {
            x: axis(c, 'rows/s', {type: 'linear', min: 0, ticks: {callback: count}}),
            y: axis(c, 'latency', {type: 'logarithmic', ticks: fifths(milliseconds)})
          },
          {
            filter: item => item.raw.point,
            callbacks: {
              label: item => `${item.dataset.label} ${milliseconds(item.raw.y)} · ${rowsPerSecond(item.raw.x)} · ${
                  loadText(item.raw.point)}`
            }
          }),
    };
  });
  return section('curve', 'Latency and throughput over the load', box,
    pointTable());
}

function failures() {
  const rows = points.flatMap(point => Object.entries(point.failures || {}).map(([kind, count]) =>
    [loadText(point), kind, make('td', String(count), {class: 'number'}), name((point.problems || {})[kind] || '')]));
  return rows.length ? section('failures', 'Failed requests', table(['load', 'status', '#requests', 'message'], rows)) :
                       null;
}

const notes = () => bench.notes && bench.notes.length ? section('notes', 'Notes', bullets(bench.notes)) : null;

ridge.page(() => [title(), tokens(), curve(), failures(), notes(), ridge.next()]);
})();
