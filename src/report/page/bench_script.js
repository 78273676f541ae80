// Draws the measurement of a model in the element "data". Numbers keep their value in data-value.
(() => {
const bench = ridge.data;
const {say, sentence, bytes, milliseconds, flops, plusMinus, rowsPerSecond, percent, percentOf, range, ends, make,
       section, longSection, quiet, warning, name, known, cell, noCell, figure, figures, table, listTable, expander,
       halves, properties, limitRows, fileName, header, disturbed, faded, barChart} = ridge;

const {latency_ms: latency, load, device} = bench;

const counted = (number, what) => `${number} ${what}${number === 1 ? '' : 's'}`;

function advice() {
  return sentence(`advice.${bench.advice_id}`, bench.advice, {
    sentence: bench.disturbance ? say(bench.disturbance.sentence) : '',
    share: percentOf(bench.percent_of_limit),
    precision: bench.precision.toUpperCase(),
    undisturbed: bench.undisturbed ?
        (bench.undisturbed.percent_of_limit > 0 ? percentOf(bench.undisturbed.percent_of_limit) :
                                                  milliseconds(bench.undisturbed.latency_ms)) :
        '–',
    rate: load ? rowsPerSecond(load.rate_per_s) : '',
    reached: load ? rowsPerSecond(load.achieved_per_s) : '',
    busy: load ? percent(load.busy_share) : '',
    queueing: load ? milliseconds(load.queueing_ms) : ''
  });
}

function title() {
  const ended = bench.interrupted ? 'interrupted: the figures cover the time until then'
    : bench.converged ? '' : 'stopped before the confidence interval was narrow enough (--ci, default ± 2 %)';
  return header(
      fileName(bench.model),
      [
        `${bench.engine} ${bench.engine_version}`, device, bench.precision, say(`batch ${bench.batch}`),
        say(counted(bench.instances, 'instance')), say(`${counted(bench.threads, 'thread')} each`),
        say(counted(bench.concurrency, 'caller'))
      ].join(' · '),
      ended ? warning(ended) : null, bench.advice_id === 'disturbed' ? null : disturbed(bench.disturbance),
      bench.advice ? make('p', advice(), {id: 'advice', class: bench.advice_id === 'disturbed' ? 'warn' : ''}) : null);
}

function tiles() {
  const of95 = bench.throughput_ci95_per_s || {};
  const interval = known(bench.ci95_percent) ? plusMinus(bench.ci95_percent) : say('one run only');
  return figures(
      figure(
          'throughput', rowsPerSecond, 'throughput_per_s',
          known(of95.low) && known(of95.high) ? range(of95.low, of95.high, rowsPerSecond) : say('measured')),
      figure('mean of one run', milliseconds, 'latency_ms.mean', `${interval} · ${say(`${bench.samples} runs`)}`),
      figure('p50 of one run', milliseconds, 'latency_ms.p50'),
      figure('p99 of one run', milliseconds, 'latency_ms.p99'),
      bench.bound_ms > 0 ? figure('bound', milliseconds, 'bound_ms', say(`limited by ${bench.limiter}`)) : null,
      bench.percent_of_limit > 0 && !load ?
          figure('share of the limit', percentOf, 'percent_of_limit', bench.undisturbed ? say('disturbed') : '') :
          null);
}

// What the percentiles are, with the 95 % interval where it was measured.
function percentiles() {
  const names = ['min', 'p50', 'p90', 'p95', 'p99', 'max'].filter(each => latency[each] > 0);
  const intervals = bench.latency_ci95_ms || {};
  const between = each =>
      intervals[each] ? make('td', ends(intervals[each], milliseconds), {class: 'number'}) : noCell();
  const some = Object.keys(intervals).length > 0;
  return section(
      'latency', 'Latency of one run',
      barChart(
          'latency-chart', names.map(say),
          c => [
              ['one run', names.map(each => latency[each]), faded(c.memory)],
              ...(bench.bound_ms > 0 ? [['bound', names.map(() => bench.bound_ms), c.compute, {maxBarThickness: 5}]] :
                                       [])],
          milliseconds),
      table(
          ['', '#one run', ...(some ? ['#95 % interval'] : [])],
          names.map(each => [say(each), cell(milliseconds, `latency_ms.${each}`), ...(some ? [between(each)] : [])])));
}

const stages = () => properties('stages', 'Stages', [
  ['loading', milliseconds, 'stages_ms.load', 'measured', 'once'],
  ['first run', milliseconds, 'stages_ms.first_run', 'measured', 'once'],
  ['input', milliseconds, 'stages_ms.input', 'measured', 'mean'],
  ['compute', milliseconds, 'stages_ms.compute', 'measured', 'mean'],
  ['output', milliseconds, 'stages_ms.output', 'measured', 'mean']
]);

const openLoad = () => load ? properties(
                                  'load', 'Load',
                                  [
                                    ['arrival rate', rowsPerSecond, 'load.rate_per_s', 'given'],
                                    ['reached', rowsPerSecond, 'load.achieved_per_s', 'measured'],
                                    ['callers busy', percent, 'load.busy_share', 'measured'],
                                    ['mean queueing', milliseconds, 'load.queueing_ms', 'measured']
                                  ]) :
                              null;

function more() {
  return properties(
      'figures', 'Summary',
      [
        ['FLOPs', flops, 'flops', 'derived'], ['bound', milliseconds, 'bound_ms', 'derived'],
        ['growth of this process', bytes, 'memory_bytes.rss_delta', 'measured'],
        [
          'energy per row', ridge.joules, 'energy.joules_per_row', 'measured',
          bench.energy && bench.energy.power_w ? bench.energy.counters : ''
        ],
        ['power', ridge.watts, 'energy.power_w', 'measured'], ...limitRows('limits')
      ],
      bench.executed ? quiet(`executed: ${bench.executed}`) : null, (bench.limit_notes || []).map(quiet),
      (bench.without_rule || []).map(op => quiet(`no rule for ${op}: only its bytes count`)));
}

function layers() {
  const all = bench.layers || [];
  if (all.length === 0) return null;
  const total = all.reduce((sum, layer) => sum + layer.ms, 0);
  const shown = all.slice(0, 15);
  return longSection(
      'layers', 'Layers',
      barChart(
          'layer-chart', shown.map(layer => layer.name),
          c => [
              ['time', shown.map(layer => layer.ms), faded(c.accent)],
              ['bound', shown.map(layer => layer.bound_ms), c.compute, {maxBarThickness: 6}]],
          milliseconds),
      quiet(
          'Time by the engine\'s profile, in which runs are slower than measured above; the bound is what this ' +
              'machine needs at least.'),
      expander(
          `all ${all.length} layers`, listTable('layers', {
            first: [['layer', layer => name(layer.name)]],
            last: [['#of the run', layer => make('td', percent(layer.ms / total), {class: 'number'})]]
          }),
          all.length <= 15));
}

ridge.page(() => [title(), tiles(), percentiles(), halves(stages(), openLoad(), more()), layers()]);
})();
