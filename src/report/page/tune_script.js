// Draws the tuning result in the element "data": of one model, or of several that share a machine. Numbers keep their
// value in data-value.
(() => {
const tuning = ridge.data;
const {say, sentence, colon, listed, bytes, milliseconds, rowsPerSecond, percent, percentOf, ratio, joules, plainNumber,
       range, make, section, longSection, quiet, bullets, name, prose, known, number, cell, noCell, figure, figures,
       table, listTable, expander, fileName, header, disturbed, faded, canvas, draw, axis, plain, decades, thirds,
       kDashes, staircase, span, whiskers, ends, count, batchLine, batchChart} = ridge;

// The gain's 95 % interval, where it was measured.
// Ends of few rounds that are this far apart say nothing.
const kNoNews = 10;
const uncertain = ({low, high}) => known(low) && known(high) && high > kNoNews * low;
const interval = gain => uncertain(gain) ? say('uncertain') :
    known(gain.low) && known(gain.high)  ? range(gain.low, gain.high, ratio) :
                                           '';
const interval95 = gain => uncertain(gain) ? say('uncertain') : interval(gain) && `95 %${colon()}${interval(gain)}`;

// ---------------------------------------------------------------- one model
const {baseline, best} = tuning;
const chosenName = () => say(tuning.choice === 'none' ? 'closest' : 'tuned');
const groupOf = point => `${point.engine || baseline.engine} ${point.variant || ''}`.trim();

// The answer, from its figures.
function conclusion() {
  const {gain, goal, choice} = tuning;
  const limit = best.percent_of_limit > 0 ?
      sentence('tune.limit', '', {limiter: say(best.limiter), share: percentOf(best.percent_of_limit)}) :
      say('limit not known');
  const undecided = goal.undecided ? sentence('tune.undecided', '', {
    goal: `p99 ≤ ${milliseconds(goal.p99_ms)}`, interval: ends(goal.undecided, milliseconds)}) : '';
  const key = tuning.conclusion.startsWith('Interrupted') ? `interrupted.${choice}` :
      choice === 'tuned' ? `tuned.${goal.objective}` :
                           choice;
  return sentence(`tune.${key}`, tuning.conclusion, {
           candidate: say(tuning.candidate.text || describe(tuning.candidate)),
           engine: baseline.engine,
           ratio: ratio(gain.ratio),
           interval: interval(gain) || '–',
           rows: rowsPerSecond(best.throughput_per_s),
           before: rowsPerSecond(baseline.throughput_per_s),
           p99: milliseconds(best.latency_ms.p99),
           p99_before: milliseconds(baseline.latency_ms.p99),
           p50: milliseconds(best.latency_ms.p50),
           p50_before: milliseconds(baseline.latency_ms.p50),
           goal: [
             known(goal.p99_ms) && `p99 ≤ ${milliseconds(goal.p99_ms)}`,
             known(goal.rows_per_s) && rowsPerSecond(goal.rows_per_s)
           ].filter(part => part)
                     .join(ridge.comma()),
           limit
         }) +
      undecided;
}
// As the measured points name theirs; the chosen one is among them, unless it is the untuned model.
function describe(candidate) {
  const same = [...(tuning.points || []), ...(tuning.pareto || [])].find(point => sameCandidate(point, candidate));
  return same ? same.text : "the engine's defaults";
}

function title() {
  return header(
      fileName(baseline.model),
      [best.engine, best.engine_version, best.device, tuning.machine.cpu && tuning.machine.cpu.model]
          .filter(part => part)
          .join(' · '),
      make('p', conclusion(), {id: 'conclusion'}), disturbed(tuning.disturbance));
}

function tiles() {
  const {gain} = tuning;
  return figures(
      figure('gain', ratio, 'gain.ratio', interval95(gain)),
      figure(
          'throughput', rowsPerSecond, 'best.throughput_per_s',
          `${say('untuned')} ${rowsPerSecond(baseline.throughput_per_s)}`),
      figure(
          'p99 of one run', milliseconds, 'best.latency_ms.p99',
          `${say('untuned')} ${milliseconds(baseline.latency_ms.p99)}`),
      figure('batch', String, 'best.batch', `${say('untuned')} ${baseline.batch}`),
      best.percent_of_limit > 0 ? figure('share of the limit', percentOf, 'best.percent_of_limit', say(best.limiter)) :
                                  null,
      tuning.drift ? figure('relative L2', plainNumber, 'drift.relative_l2', say('deviation')) : null);
}

function comparison() {
  const row = (title, side, key) =>
      [title, side.engine, side.precision, `${side.instances} × ${side.threads}`, cell(String, `${key}.batch`),
       cell(rowsPerSecond, `${key}.throughput_per_s`), intervalCell(side.throughput_ci95_per_s || {}, rowsPerSecond),
       cell(milliseconds, `${key}.latency_ms.p50`), intervalCell((side.latency_ci95_ms || {}).p50 || {}, milliseconds),
       cell(milliseconds, `${key}.latency_ms.p99`), intervalCell(p99Interval(side), milliseconds),
       side.percent_of_limit > 0 ? cell(percentOf, `${key}.percent_of_limit`) : noCell(),
       cell(String, `${key}.samples`)];
  return section(
      'comparison', 'Before and after',
      table(
          [
            '', 'engine', 'precision', 'instances × threads', '#batch', '#throughput',
            '#95 % interval', '#p50 of one run', '#95 % interval', '#p99 of one run', '#95 % interval',
            '#share of the limit', '#runs'
          ],
          [row(say('untuned'), baseline, 'baseline'), row(chosenName(), best, 'best')]));
}

const kCandidate = ['engine', 'variant', 'threads', 'instances', 'batch', 'spin', 'inter_op_threads', 'block_base'];
const sameCandidate = (a, b) => kCandidate.every(key => a[key] === b[key]);
const isChosen = point => sameCandidate(point, tuning.candidate);
const place = point => ({x: point.latency_ms.p99, y: point.throughput_per_s, point});
// Its 95 % intervals of the rows per second and of p99, where it was measured with them; the winner's are those of
// "Before and after".
const rowsInterval = point => (isChosen(point) ? best.throughput_ci95_per_s : point.throughput_ci95_per_s) || {};
const p99Interval = point => (point.latency_ci95_ms || {}).p99 || {};
const intervalCell = (interval, show) =>
    make('td', uncertain(interval) ? say('uncertain') : ends(interval, show) || '–', {class: 'number'});
const gainCell = gain => make('td', interval(gain) || '–', {class: 'number'});
// What a whisker would show.
const telling = interval => uncertain(interval) ? {} : interval;
const met = point => say(point.undecided ? 'undecided' : point.meets_goal ? 'met' : 'not met');

function front() {
  const points = tuning.points || [];
  if (points.length === 0) return null;
  const [element, box] = canvas('front-chart', false);
  element.dataset.dots = points.length;
  const groups = [...new Set(points.map(groupOf))];
  draw(element, c => {
    const palette = [c.accent, c.memory, c.compute, c.fourth, c.other, c.text];
    const clouds = groups.map((group, index) => ({
                                type: 'scatter',
                                label: group,
                                data: points.filter(point => groupOf(point) === group).map(place),
                                backgroundColor: faded(palette[index % palette.length]),
                                borderColor: palette[index % palette.length],
                                pointRadius: 4,
                                pointHoverRadius: 7
                              }));
    const line = {
      type: 'line',
      label: say('front in these two'),
      borderColor: c.quiet,
      borderWidth: 1.5,
      borderDash: kDashes[1],
      pointRadius: 0,
      pointHitRadius: 0,
      stepped: 'before',
      pointStyle: 'line',
      data: staircase(points.map(place))
    };
    const mark = (label, data, style, colour) => ({
      type: 'scatter',
      label,
      pointStyle: style,
      pointRadius: 9,
      pointHoverRadius: 10,
      borderColor: colour,
      backgroundColor: 'transparent',
      borderWidth: 2,
      data
    });
    const before =
        mark(say('untuned'), [{x: baseline.latency_ms.p99, y: baseline.throughput_per_s}], 'rectRot', c.text);
    const chosen = points.find(isChosen);
    const winner = tuning.choice === 'baseline' ? [] : [
      mark(
          chosenName(), [chosen ? place(chosen) : {x: best.latency_ms.p99, y: best.throughput_per_s}], 'circle', c.warn)
    ];
    const rows = span([...points, baseline].map(point => point.throughput_per_s)),
          times = span(points.map(point => point.latency_ms.p99), 0.5);
    const errors = [
      whiskers('', c.quiet, points.map(point => ({x: point.latency_ms.p99, ...telling(rowsInterval(point))})), rows),
      whiskers(
          '', c.quiet, points.map(point => ({y: point.throughput_per_s, ...telling(p99Interval(point))})), times, true)
    ];
    const about = ({raw, dataset}) => raw.point ?
        [
          say(raw.point.text), rowsPerSecond(raw.y), `p99 ${milliseconds(raw.x)}`,
          `${say('gain')} ${ratio(raw.point.gain.ratio)}`
        ] :
        [dataset.label, rowsPerSecond(raw.y), `p99 ${milliseconds(raw.x)}`];
    const options = plain(c, {
      x: axis(c, 'p99 of one run', {type: 'logarithmic', ticks: thirds(milliseconds)}),
      y: axis(c, 'rows/s', {beginAtZero: true, ticks: {callback: count}}),
    }, {filter: item => item.dataset.type !== 'line', callbacks: {label: about}});
    options.plugins.legend.labels.usePointStyle = true;
    return {
      type: 'scatter',
      data: {datasets: [...winner, before, ...clouds, line, ...errors.filter(error => error.data.length)]},
      options
    };
  });
  const energy = tuning.pareto.some(point => point.joules_per_row), goal = known(tuning.goal.p99_ms);
  const rows = tuning.pareto.map((point, i) => [
    make('td', say(point.text), {class: 'name'}), isChosen(point) ? make('td', chosenName(), {class: 'good'}) : '',
    cell(rowsPerSecond, `pareto.${i}.throughput_per_s`), intervalCell(rowsInterval(point), rowsPerSecond),
    cell(milliseconds, `pareto.${i}.latency_ms.p99`), intervalCell(p99Interval(point), milliseconds),
    ...(goal ? [met(point)] : []),
    point.memory_bytes > 0 ? cell(bytes, `pareto.${i}.memory_bytes`) : noCell(),
    ...(energy ? [cell(joules, `pareto.${i}.joules_per_row`)] : []),
    cell(ratio, `pareto.${i}.gain.ratio`), gainCell(point.gain)]);
  return section(
      'front', 'Measured candidates', box,
      quiet(
          'Each dot is a measured candidate. The steps join those that no other beats in throughput and p99; the ' +
              'table has those that no other beats in throughput, p99, memory and energy at once.'),
      table(
          [
            'Pareto front', '', '#throughput', '#95 % interval', '#p99 of one run', '#95 % interval',
            ...(goal ? ['goal'] : []), '#memory', ...(energy ? ['#energy per row'] : []), '#gain', '#95 % interval'
          ],
          rows));
}

function batchingReason() {
  const advice = tuning.batching_advice;
  return sentence(`batching.${advice.id}`, advice.reason, {
    batch: String(advice.max_batch),
    gain: ratio(advice.gain || 0),
    delay: milliseconds(advice.queue_delay_ms),
    fixed: milliseconds(advice.fixed_ms),
    per_row: milliseconds(advice.per_row_ms)
  });
}

function curve() {
  const points = tuning.curve || [];
  if (points.length === 0) return null;
  const goal = tuning.goal.p99_ms;
  const ownInterval = point =>
      (point.batch === tuning.candidate.batch ? best.throughput_ci95_per_s : point.throughput_ci95_per_s) || {};
  const [element, box] = canvas('batch-chart', true);
  element.dataset.points = points.length;
  draw(element, c => {
    const line = (label, colour, axisName, value, dash) => batchLine(label, colour, axisName, points, value, dash);
    const lines = [line('throughput', c.accent, 'y', point => point.throughput_per_s),
                   line('median of one run', c.memory, 'y1', point => point.latency_ms.p50),
                   line('p99 of one run', c.compute, 'y1', point => point.latency_ms.p99, kDashes[1])];
    if (goal) lines.push({...line('goal', c.warn, 'y1', () => goal, kDashes[2]), pointRadius: 0});
    const rows = span(points.map(point => point.throughput_per_s)),
          times = span(points.map(point => point.latency_ms.p99));
    const errors = [
      {
        ...whiskers('', c.accent, points.map(point => ({x: point.batch, ...telling(ownInterval(point))})), rows),
        yAxisID: 'y'
      },
      {
        ...whiskers('', c.compute, points.map(point => ({x: point.batch, ...telling(p99Interval(point))})), times),
        yAxisID: 'y1'
      }
    ];
    lines.push(...errors.filter(error => error.data.length));
    return batchChart(c, points, lines);
  });
  const rows = points.map((point, i) => [
    cell(String, `curve.${i}.batch`), cell(milliseconds, `curve.${i}.latency_ms.p50`),
    cell(milliseconds, `curve.${i}.latency_ms.p99`), intervalCell(p99Interval(point), milliseconds),
    cell(rowsPerSecond, `curve.${i}.throughput_per_s`), intervalCell(ownInterval(point), rowsPerSecond)]);
  return section(
      'curve', 'Latency and throughput over the batch', box,
      quiet('All instances of the chosen layout busy; p50 and p99 of one run.'),
      table(['#batch', '#p50 of one run', '#p99 of one run', '#95 % interval', '#throughput', '#95 % interval'], rows),
      make('p', batchingReason()), tuning.batching_outlook ? quiet(tuning.batching_outlook.sentence) : null);
}

// Time per row of each name; layers of one name are one row. The most expensive first.
function layersOf(side) {
  const rows = new Map();
  for (const layer of side.layers || []) {
    const row = rows.get(layer.name) || {name: layer.name, op: layer.op, ms: 0, limit: 0};
    row.ms += layer.ms / side.batch;
    row.limit += layer.bound_ms / side.batch;
    rows.set(layer.name, row);
  }
  return [...rows.values()].sort((a, b) => b.ms - a.ms);
}
const layerCell = value => make('td', value ? milliseconds(value) : '–', {class: 'number'});
const layerChart = (id, names, sets) => ridge.barChart(id, names, sets, milliseconds, 'time per row');

// Layers of both sides by their names where most have a partner; else a list of each side.
function layers() {
  const before = layersOf(baseline), after = layersOf(best);
  if (before.length + after.length === 0) return null;
  const note = quiet(
      'By the engine\'s profile, in which runs are slower; layers of one name are one row. Time per row of the ' +
          'batch; the limit is what this machine needs at least.');
  const partner = new Map(after.map(row => [row.name, row]));
  const pairs = before.filter(row => partner.has(row.name)).length;
  const limit = c => [c.compute, {maxBarThickness: 6}];
  if (2 * pairs < Math.min(before.length, after.length) || pairs === 0) {
    const side = (id, title, rows) => rows.length === 0 ?
        null :
        make(
            'div', null, {class: 'case'}, make('h3', say(title)),
            layerChart(
                id, rows.slice(0, 12).map(row => row.name),
                c => [
                    ['time', rows.slice(0, 12).map(row => row.ms), faded(c.accent)],
                    ['limit', rows.slice(0, 12).map(row => row.limit), ...limit(c)]]),
            expander(
                `all ${rows.length} layers`,
                table(
                    ['layer', 'operator', '#time', '#limit'],
                    rows.map(row => [name(row.name), row.op, layerCell(row.ms), layerCell(row.limit)]))));
    return longSection(
        'layers', 'Layers', quiet('The two engines name their layers differently, so they are two lists.'), note,
        make(
            'div', null, {class: 'cases'}, side('layer-chart', 'before', before),
            side('layer-chart-after', 'after', after)));
  }
  const names = [...new Set([...before, ...after].sort((a, b) => b.ms - a.ms).map(row => row.name))];
  const first = new Map(before.map(row => [row.name, row]));
  const of = (rows, field) => one => (rows.get(one) || {})[field] || 0;
  const shown = names.slice(0, 14);
  const least = one => of(partner, 'limit')(one) || of(first, 'limit')(one);
  const body = names.map(
      one =>
          [name(one), (first.get(one) || partner.get(one)).op, layerCell(of(first, 'ms')(one)),
           layerCell(of(partner, 'ms')(one)), layerCell(least(one))]);
  return longSection(
      'layers', 'Layers',
      layerChart(
          'layer-chart', shown,
          c => [
              ['before', shown.map(of(first, 'ms')), faded(c.other)],
              ['after', shown.map(of(partner, 'ms')), faded(c.accent)], ['limit', shown.map(least), ...limit(c)]]),
      note, expander(`all ${names.length} layers`, table(['layer', 'operator', '#before', '#after', '#limit'], body)));
}

// The judged outputs: the guard's verdict per implementation and output, or the winner's deviation alone.
function judged() {
  const implementations = (tuning.accuracy && tuning.accuracy.implementations) || [];
  const rows = implementations.flatMap((one, i) => ((one.accuracy && one.accuracy.outputs) || []).map((output, j) => (
    {...output, of: `${one.engine} ${one.variant}`, member: `accuracy.implementations.${i}.accuracy.outputs.${j}`})));
  const lost = ((tuning.accuracy && tuning.accuracy.variants) || []).flatMap((one, i) => one.holds ? []
    : ((one.verdict && one.verdict.outputs) || []).map((output, j) => (
      {...output, of: one.name, member: `accuracy.variants.${i}.verdict.outputs.${j}`})));
  return [...rows, ...lost];
}

function deviation() {
  const outputs = judged();
  const rows = outputs.length > 0 ? outputs :
      tuning.drift ? [{...tuning.drift, of: tuning.candidate.variant || '', name: '', holds: true, member: 'drift'}] :
                     [];
  if (rows.length === 0) return null;
  const one = new Set(rows.map(row => row.name)).size === 1;  // all of one output: its name adds nothing
  const label = row => one ? row.of || row.name : `${row.of} ${row.name}`.trim();
  const least = 1e-9;
  const differ = rows.some(row => row.relative_l2 > least || 1 - row.cosine > least);
  const [element, box] = canvas('drift-chart', true);
  element.dataset.bars = rows.length;
  if (differ)
    draw(element, c => {
      const set = (title, value, colour) =>
          ({label: title, data: rows.map(value), backgroundColor: faded(colour), skipNull: true});
      const l2 = holds => row => row.holds === holds ? Math.max(row.relative_l2, least) : null;
      return {
        type: 'bar',
        data: {
          labels: rows.map(label),
          datasets: [
            set(`${say('relative L2')} (${say('holds')})`, l2(true), c.accent),
            ...(rows.some(row => !row.holds) ? [set(`${say('relative L2')} (${say('fails')})`, l2(false), c.warn)] :
                                               []),
            set(`1 − ${say('cosine')}`, row => Math.max(1 - row.cosine, least), c.memory)
          ]
        },
        options: {
          ...plain(
              c, {
                x: axis(c, '', {ticks: {autoSkip: false, maxRotation: 50}}),
                y: axis(c, '', {
                  type: 'logarithmic',
                  min: least,
                  suggestedMax: 0.01,
                  ticks: decades(value => value.toExponential(0))
                }),
              },
              {
                callbacks: {
                  label: item =>
                      `${item.dataset.label}${colon()}${item.raw <= least ? '≤ ' : ''}${plainNumber(item.raw)}`
                }
              }),
          parsing: true,
          normalized: false
        },
      };
    });
  const body = rows.map(
      row =>
          [name(`${row.of} ${row.name}`.trim()), cell(plainNumber, `${row.member}.relative_l2`),
           cell(value => value.toFixed(6), `${row.member}.cosine`), cell(plainNumber, `${row.member}.max_abs`),
           cell(percent, `${row.member}.top1_agreement`),
           make(
               'td', say(row.holds ? 'holds' : 'fails') + (row.failure ? colon() + say(row.failure) : ''),
               {class: row.holds ? 'name' : 'name warn'})]);
  return section('drift', 'Outputs against FP32', differ ? box : null,
    table(['output', '#relative L2', '#cosine', '#largest difference', '#same top-1', 'verdict'], body),
    tuning.accuracy ? quiet(tuning.accuracy.samples) : null);
}

// The accuracy loss per layer, and the layers kept in FP32.
function sensitivity() {
  const rows =
      ((tuning.accuracy && tuning.accuracy.variants) || [])
          .flatMap(
              (variant, i) => (variant.sensitivity || [])
                                  .map(
                                      (layer, j) =>
                                          [name(layer.node), variant.name,
                                           layer.relative_l2 === null ?
                                               make('td', '∞', {class: 'number'}) :
                                               cell(plainNumber, `accuracy.variants.${i}.sensitivity.${j}.relative_l2`),
                                           cell(String, `accuracy.variants.${i}.sensitivity.${j}.together`),
                                           layer.kept ? say('stays in FP32') : '']));
  if (rows.length === 0) return null;
  return longSection('sensitivity', 'What each layer costs in accuracy', expander(`all ${rows.length} layers`,
    table(['layer', 'precision', '#relative L2', '#measured together', ''], rows), rows.length <= 20));
}

const skippedTable = all => {
  const rows =
      all.map((skip, i) => [prose(sentence(`skip.${skip.id}`, skip.reason)), cell(String, `space.skipped.${i}.count`)]);
  return rows.length > 0 ? table(['reason', '#candidates'], rows) : null;
};

function skipped() {
  const refused = ((tuning.accuracy && tuning.accuracy.refused) || []).map(one =>
    [make('td', `${one.engine} ${one.variant}`), prose(sentence(`refused.${one.id}`, one.reason))]);
  const reasons = skippedTable(tuning.space.skipped);
  if (!reasons && refused.length === 0) return null;
  return section('skipped', 'Not measured', reasons, refused.length > 0 ? table(['engine', 'reason'], refused) : null);
}

// Ends of the interval of the judged change; the spread is one of logarithms, so that neither is below -100 %.
const changeEnds = (one, spread) => {
  const judged = 1 + (one.beside_untuned_percent ?? one.change_percent) / 100;
  return spread > 0 ? range(judged * Math.exp(-spread / 100) - 1, judged * Math.exp(spread / 100) - 1, percent) : '–';
};

// Beside an earlier result (--compare).
function compared() {
  const rows = (tuning.compared || []).map((one, i) => {
    const of = (field, show) => cell(show, `compared.${i}.${field}`);
    const plainUnit = value => `${plainNumber(value)} ${say(one.unit)}`.trim();
    return [
      make('td', say(one.what), {class: 'name'}), of('before', plainUnit), of('now', plainUnit),
      of('change_percent', percentOf), of('spread_percent', spread => changeEnds(one, spread)),
      make(
          'td', say(one.verdict),
          {class: one.verdict === 'regressed' ? 'warn' :
               one.verdict === 'better'       ? 'good' :
                                                ''}),
      prose(one.reason || '')
    ];
  });
  return rows.length ? section(
                           'compared', 'Beside the earlier result',
                           table(['figure', '#before', '#now', '#change', '#interval', 'verdict', 'why'], rows)) :
                       null;
}

// What other goals would have chosen on the same front.
function alternatives() {
  const rows =
      (tuning.alternatives || [])
          .map(
              (one, i) =>
                  [make('code', `--for ${one.for}`, {translate: 'no'}), make('td', say(one.text), {class: 'name'}),
                   cell(rowsPerSecond, `alternatives.${i}.throughput_per_s`),
                   cell(milliseconds, `alternatives.${i}.latency_ms.p50`),
                   cell(milliseconds, `alternatives.${i}.latency_ms.p99`)]);
  return rows.length ? section(
                           'alternatives', 'For other goals',
                           table(
                               ['option', 'settings', '#throughput', '#p50 of one run', '#p99 of one run'],
                               rows.map(([option, ...rest]) => [make('td', null, {}, option), ...rest]))) :
                       null;
}

// The best at the load that was asked for, and what the time did not allow.
function atLoad() {
  const load = tuning.at_load;
  return load ? ridge.properties(
                    'at-load', 'Load',
                    [
                      ['arrival rate', rowsPerSecond, 'at_load.asked_per_s', 'given'],
                      ['reached', rowsPerSecond, 'at_load.done_per_s', 'measured'],
                      [
                        'p99 of a request', milliseconds, 'at_load.request_p99_ms', 'measured',
                        ends(load.request_p99_ci95_ms, milliseconds) &&
                            `95 %${colon()}${ends(load.request_p99_ci95_ms, milliseconds)}`
                      ]
                    ]) :
                null;
}
const notDone = () => (tuning.not_done || []).length
  ? section('not-done', 'Left out for lack of time', bullets(tuning.not_done)) : null;

// ---------------------------------------------------------------- several models that share a machine
const models = tuning.models || [];

function sharedTitle() {
  const met = models.every(model => model.goal.met);
  const {gain} = tuning;
  return [
    header(
        listed(models.map(model => model.name)), tuning.machine.cpu ? tuning.machine.cpu.model : '',
        make(
            'p',
            sentence(
                `share.${tuning.choice}`, tuning.conclusion,
                {ratio: ratio(gain.ratio), value: say(tuning.value.what), interval: interval(gain) || '–'}),
            {id: 'conclusion'}),
        disturbed(tuning.disturbance)),
    figures(
        figure('gain', ratio, 'gain.ratio', interval95(gain)),
        figure(
            tuning.value.what, plainNumber, 'value.best.value',
            [
              `${say('untuned')} ${plainNumber(tuning.value.untuned.value)}`,
              say(met ? 'all goals met' : 'not every goal met')
            ].join(' · ')),
        figure(
            'CPUs', String, 'processors',
            say(tuning.in_turns ? 'each model may use all of them' : 'divided among the models')),
        figure('memory', bytes, 'memory_bytes.measured', say('measured')))
  ];
}

function sharedModels() {
  const goal = model => make(
      'td', say(model.goal.met ? 'met' : 'not met') + (model.goal.reason ? colon() + say(model.goal.reason) : ''),
      {class: model.goal.met ? 'name' : 'name warn'});
  const of = (label, value, colour) => [label, models.map(value), faded(colour)];
  const box = ridge.barChart(
      'models-chart', models.map(model => model.name),
      c =>
          [of('untuned, all at once', model => model.baseline.throughput_per_s, c.other),
           of('tuned, all at once', model => model.best.throughput_per_s, c.accent),
           of('alone', model => model.alone.throughput_per_s, c.memory)],
      count, 'rows/s');
  return section(
      'models', 'Models', box,
      listTable('models', {
        first: [['model', model => name(model.name)]],
        last: [
          ['#load', (_, i) => cell(rowsPerSecond, `models.${i}.goal.rows_per_s`)],
          ['#goal for p99', (_, i) => cell(milliseconds, `models.${i}.goal.p99_ms`)], ['goal', goal]
        ]
      }));
}

function partitions() {
  const rows =
      (tuning.splits || [])
          .map(
              (split, i) =>
                  [make(
                       'td',
                       split.models
                           .map(
                               model => `${model.name}${colon()}${
                                   say(model.text || '') ||
                                   `${model.instances} × ${model.threads}`} · ${say(`batch ${model.batch}`)}`)
                           .join('\n'),
                       {class: 'name lines'}),
                   cell(plainNumber, `splits.${i}.score.value`), cell(plainNumber, `splits.${i}.expected_value`),
                   cell(plainNumber, `splits.${i}.most_value`), cell(ratio, `splits.${i}.gain.ratio`),
                   cell(bytes, `splits.${i}.memory_bytes.predicted`), say(split.score.met ? 'met' : 'not met')]);
  if (rows.length === 0) return null;
  return longSection(
      'splits', 'Measured partitions',
      expander(
          `all ${rows.length} partitions`,
          table(['models', `#${tuning.value.what}`, '#expected', '#at most', '#gain', '#memory', 'goals'], rows),
          rows.length <= 12));
}

function sharedSkipped() {
  const reasons = skippedTable(tuning.space.skipped);
  return reasons ? section('skipped', 'Not measured', reasons) : null;
}

ridge.page(
    () => models.length ? [sharedTitle(), sharedModels(), partitions(), sharedSkipped(), notDone(), ridge.next()] : [
      title(), tiles(), compared(), comparison(), front(), alternatives(), atLoad(), curve(), layers(), deviation(),
      sensitivity(), skipped(), notDone(), ridge.next()
    ]);
})();
