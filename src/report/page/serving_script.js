// Draws how a language model is served, in the element "data": the best way, the ways that no other beats, and the time
// of a step by kernel. Numbers keep their value in data-value.
(() => {
const plan = ridge.data;
const {say, listed, bytes, milliseconds, count, percentOf, joules, dollars, plainNumber, range, make, section,
       longSection, quiet, bullets, warning, name, known, cell, figure, figures, table, listTable, expander, halves,
       properties, limitRows, fileName, header, faded, canvas, draw, axis, plain, fifths, barChart, whiskers} = ridge;

const best = plan.serving;
const tokensPerSecond = value => `${count(value)} ${say('tokens/s')}`;
const whole = value => String(Math.round(value));

// "TP 2 DP 4 EP 8", as the engines' users say it.
const sizes =
    parallel => [['TP', parallel.tensor], ['DP', parallel.data], ['PP', parallel.pipeline], ['EP', parallel.expert]]
                    .filter(([label, size]) => label === 'TP' || size > 1)
                    .map(([label, size]) => `${label}\u00a0${size}`)
                    .join(' ');
// With prefill workers: "4 × TP 1 prefill, 1 × TP 4 decode".
const split = way => known(way.prefill) ?
    listed([[way.prefill.workers, way.prefill, 'prefill'], [way.replicas, way, 'decode']].map(
        ([workers, pool, kind]) => `${workers} × ${sizes(pool.parallel)} ${say(kind)}`)) :
    sizes(way.parallel);
const gpus = way => `${way.gpus} × ${way.gpu}`;
const load = way => way.concurrency > 0 ? say(`${way.concurrency} at once`) :
    way.requests_per_s > 0 ? say(`${plainNumber(way.requests_per_s)} requests/s`) :
                             say(`${plan.workload.trace_requests} requests of a trace`);
const ends = (interval, show) =>
    known(interval) && interval.low !== interval.high ? range(interval.low, interval.high, show) : '';

function title() {
  const {prompt, output} = plan.workload;
  return header(
      fileName(plan.model),
      best ? [best.engine, gpus(best), split(best), load(best), say('predicted')].join(' · ') : null,
      quiet(`prompts of ${prompt[0]} to ${prompt[1]} tokens, outputs of ${output[0]} to ${output[1]}`),
      plan.reason ? warning(plan.reason) : null,
      best && !plan.met ? warning('no way that was tried meets the goals at the slow end of the expected range') : null,
      best ? quiet('No engine was run. The range beside a figure holds 80 % of measured values.') : null);
}

function tiles() {
  const tile = (title, show, member, of, showRange = show) =>
      figure(title, show, member, ends(best.ranges[of], showRange));
  return figures(
      tile('first token', milliseconds, 'serving.ttft_ms.mean', 'ttft_ms'),
      tile('each token', milliseconds, 'serving.tpot_ms.mean', 'tpot_ms'),
      tile('tokens/s per GPU', whole, 'serving.tokens_per_s_per_gpu', 'tokens_per_s_per_gpu'),
      tile('tokens/s per user', whole, 'serving.tokens_per_s_per_user', 'tokens_per_s_per_user'),
      known(best.usd_per_million) ? tile('per million tokens', dollars, 'serving.usd_per_million', 'usd_per_million') :
                                    null,
      figure('limit of a step', milliseconds, 'serving.bound_tpot_ms', say('every kernel at its physical bound')));
}

// Rates of one way; its ranges as they are.
const point = way => ({
  x: way.tokens_per_s_per_user,
  y: way.tokens_per_s_per_gpu,
  low: way.ranges.tokens_per_s_per_gpu.low,
  high: way.ranges.tokens_per_s_per_gpu.high,
  way
});
const across = way => ({
  y: way.tokens_per_s_per_gpu,
  low: way.ranges.tokens_per_s_per_user.low,
  high: way.ranges.tokens_per_s_per_user.high
});

function front() {
  if (plan.ways.length < 2) return null;
  const [element, box] = canvas('front-chart', false);
  const ways = plan.front, others = plan.ways.filter(way => !ways.some(one => sameWay(one, way)));
  const ascending = [...ways].reverse();  // lines are looked up by x
  element.dataset.points = ways.length;
  draw(element, c => {
    const shades = [c.accent, c.memory, c.compute, c.fourth, c.warn, c.other];
    const kinds = [...new Set([...ways, ...others].map(way => `${way.gpu} · ${way.engine}`))];
    // Filled on the line, hollow elsewhere.
    const dots = kinds.map((kind, i) => {
      const all = [...ways, ...others].filter(way => `${way.gpu} · ${way.engine}` === kind),
            shade = shades[i % shades.length];
      return {
        type: 'scatter',
        label: kind,
        borderColor: shade,
        pointRadius: 5,
        data: all.map(point),
        backgroundColor: faded(shade),
        pointBackgroundColor: all.map(way => ways.includes(way) ? faded(shade) : 'transparent')
      };
    });
    const chosen = {
      type: 'scatter',
      label: say('the best way'),
      backgroundColor: 'transparent',
      borderColor: c.text,
      borderWidth: 2,
      pointRadius: 9,
      pointHitRadius: 0,
      data: [point(best)]
    };
    const line = {
      type: 'line',
      label: '',
      borderColor: c.quiet,
      borderWidth: 1.5,
      pointRadius: 0,
      pointHitRadius: 0,
      data: ascending.map(way => ({x: way.tokens_per_s_per_user, y: way.tokens_per_s_per_gpu}))
    };
    const reach = [whiskers('', faded(c.quiet), ascending.map(point), [0, Infinity]),
                   ...ways.map(way => whiskers('', faded(c.quiet), [across(way)], [0, Infinity], true))];
    const about = ({way}) =>
        [`${gpus(way)} · ${way.engine} · ${way.weights} · ${split(way)} · ${load(way)}`,
         `${say('tokens/s per GPU')} ${whole(way.tokens_per_s_per_gpu)} (${
             ends(way.ranges.tokens_per_s_per_gpu, whole) || '='})`,
         `${say('tokens/s per user')} ${whole(way.tokens_per_s_per_user)} (${
             ends(way.ranges.tokens_per_s_per_user, whole)})`,
         `${say('first token')} ${milliseconds(way.ttft_ms.mean)} (${ends(way.ranges.ttft_ms, milliseconds)})`];
    const rates = of => {
      const all = [...ways, ...others].flatMap(
          way => [way[of], ...(ways.includes(way) ? [way.ranges[of].low, way.ranges[of].high] : [])]);
      return {
        type: 'logarithmic',
        min: Math.min(...all) / 1.15,
        max: Math.max(...all) * 1.15,
        ticks: fifths(plainNumber)
      };
    };
    return {
      type: 'scatter',
      data: {datasets: [chosen, ...dots, line, ...reach]},
      options: plain(
          c, {
            x: axis(c, 'tokens/s per user', rates('tokens_per_s_per_user')),
            y: axis(c, 'tokens/s per GPU', rates('tokens_per_s_per_gpu'))
          },
          {filter: item => item.raw.way !== undefined, callbacks: {label: item => about(item.raw)}}),
    };
  });
  return section(
      'front', 'Which way serves best', box,
      quiet(
          'The line joins the ways that no other beats in both rates; the others are hollow. Bars are the ranges ' +
              'of both rates. To the right each user is served faster, upwards a GPU serves more.'),
      expander(`the ${ways.length} ways on the line`, waysTable('front'), true));
}

const sameWay = (a, b) => gpus(a) === gpus(b) && a.engine === b.engine && a.weights === b.weights &&
    split(a) === split(b) && a.concurrency === b.concurrency;

function waysTable(member) {
  const splits = ['split', way => make('td', split(way), known(way.prefill) ? {class: 'name'} : {})];
  const goal = ['', way => make('td', say(way.meets ? '' : 'misses the goal'), {class: 'origin'})];
  return listTable(member, {
    first: [['GPUs', way => name(gpus(way))], splits],
    last: plan[member].some(way => !way.meets) ? [goal] : []
  });
}

// Of a decode step of the mean batch, or of one prompt.
function step(id, title, member, note) {
  const kernels = best[member];
  const chart = barChart(
      `${id}-chart`, kernels.map(kernel => say(kernel.name)),
      c => [
          ['expected', kernels.map(kernel => kernel.ms), faded(c.accent)],
          ['physical limit', kernels.map(kernel => kernel.bound_ms), faded(c.quiet)]],
      milliseconds);
  const all = kernels.reduce((sum, kernel) => sum + kernel.ms, 0);
  for (const kernel of kernels)
    if (kernel.bound_ms <= 0) kernel.percent_of_limit = null;  // it has no limit
  const share = ['#share', kernel => make('td', percentOf(100 * kernel.ms / all), {class: 'number'})];
  return longSection(id, title, chart, listTable(`serving.${member}`, {last: [share]}), quiet(note));
}

function launch() {
  const code = (text, id) => make(
      'div', null, {class: 'scroll', tabindex: 0}, make('pre', null, {}, make('code', text, {id, translate: 'no'})));
  return longSection('launch', 'How to start it', code(best.launch, 'launch-line'), bullets(best.launch_notes),
    make('p', `${best.engine} ${best.engine_version} · ${best.image}`, {class: 'quiet', translate: 'no'}),
    plan.manifest ? expander('Kubernetes manifest', code(plan.manifest, 'manifest')) : null);
}

function facts() {
  return properties('facts', 'Model and memory', [
    ['parameters', count, 'params', 'derived'], ['used per token', count, 'active_params', 'derived'],
    ['weights as published', bytes, 'weight_bytes', 'derived'],
    ['cache per token', bytes, 'kv_bytes_per_token', 'derived'],
    ['weights per GPU', bytes, 'serving.memory.weights', 'derived', best ? best.weights : ''],
    ['cache per GPU', bytes, 'serving.memory.cache', 'derived'],
    ['tokens in the cache', count, 'serving.memory.cache_tokens', 'derived', 'per replica of attention'],
    ...(best && known(best.prefill) ?
            [
              ['weights per GPU, prefill', bytes, 'serving.prefill.memory.weights', 'derived'],
              ['cache per GPU, prefill', bytes, 'serving.prefill.memory.cache', 'derived']
            ] :
            [])
  ]);
}

// Of GPUs of this machine: where each limit comes from.
const limits = () =>
    (plan.here || [])
        .map(
            (gpu, i) =>
                properties(`limits-${i}`, 'Limits of the device', limitRows(`here.${i}.limits`), name(gpu.name, 'p')));

function figuresOfBest() {
  const row =
      (title, show, member,
       of) => [say(title), cell(show, `serving.${member}`), make('td', of ? ends(best.ranges[of], show) : '', {
                 class: 'number quiet'
               })];
  const rows = [
    row('first token, mean', milliseconds, 'ttft_ms.mean', 'ttft_ms'),
    row('first token, median', milliseconds, 'ttft_ms.p50'), row('first token, p99', milliseconds, 'ttft_ms.p99'),
    row('each token, mean', milliseconds, 'tpot_ms.mean', 'tpot_ms'),
    row('each token, median', milliseconds, 'tpot_ms.p50'), row('each token, p99', milliseconds, 'tpot_ms.p99'),
    row('output', tokensPerSecond, 'output_tokens_per_s', 'output_tokens_per_s')
  ];
  if (known(best.prefill))
    rows.push(
        row('prefill workers are busy', share => percentOf(100 * share), 'prefill.busy'),
        row('a prompt\'s cache to a decode worker', milliseconds, 'prefill.transfer_ms'));
  if (known(best.usd_per_million)) rows.push(row('per million tokens', dollars, 'usd_per_million', 'usd_per_million'));
  if (known(best.joules_per_token)) rows.push(row('energy per token', joules, 'joules_per_token', 'joules_per_token'));
  return section('figures', 'Figures of the best way', table(['figure', '#value', '#range'], rows));
}

ridge.page(() => !best ? [title(), facts(), notes()] : [
  title(), tiles(), front(), step('decode', 'A decode step of the mean batch', 'decode_step', best.advice),
  step(
      'prompt', 'One prompt alone', 'prompt_step',
      'Laws are fitted to measured kernels, of this GPU or, where it was not measured, of others.'),
  launch(), halves(figuresOfBest(), facts(), limits()),
  plan.searched > 1 ? longSection('ways', `The best of ${plan.searched} ways`, waysTable('ways')) : null, notes()
]);

function notes() { return plan.notes && plan.notes.length ? section('notes', 'Notes', bullets(plan.notes)) : null; }
})();
