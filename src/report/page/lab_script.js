// Draws the ledger in the element "data". Numbers keep their value in data-value.
(() => {
const ledger = ridge.data;
const {say, sentence, colon, seconds, bandwidth, rate, percent, ratio, make, section, longSection, quiet, warning, name,
       prose, known, number, cell, figure, figures, table, header, disturbed, faded, narrow, short, canvas, tallCanvas,
       draw, axis, plain, bars, labelAxis, ticksAt} = ridge;

const shown = row => row.claimed.kind === 'share' ? percent : ratio;
const tested = ledger.ledger.map((row, i) => ({...row, member: `ledger.${i}`})).filter(row => row.experiment);
const untested = ledger.ledger.filter(row => !row.experiment);
const kColours =
    {confirmed: 'accent', larger: 'fourth', smaller: 'compute', contradicted: 'warn', 'not testable here': 'other'};
const claimText = row => sentence(`claim.${row.claim}`, row.statement);
const against = row => `${say(row.variant)} ${say('against')} ${say(row.baseline)}`;
// Two rows of one name differ in their work.
const sameName = row =>
    tested
        .filter(other => other.claim === row.claim && other.variant === row.variant && other.baseline === row.baseline)
        .length > 1;
const label = row => narrow() ?
    row.claim :
    `${row.claim}  ${short(against(row) + (sameName(row) ? `${colon()}${say(row.work)}` : ''), 56)}`;

function title() {
  const {conditions} = ledger;
  return [
    header(
        `ridge lab · ${conditions.name}`,
        quiet('The handbook\'s performance claims, tested as experiments on this device'),
        [conditions.device, conditions.platform, conditions.driver].filter(text => text).join(' · '),
        conditions.note ? quiet(conditions.note) : null,
        ledger.interrupted ? warning('interrupted: the other claims were not tested') : null,
        disturbed(ledger.disturbance)),
    figures(Object.keys(ledger.verdicts).map(verdict => figure(verdict, String, `verdicts.${verdict}`)))
  ];
}

function claims() {
  if (tested.length === 0) return null;
  const [element, box] = tallCanvas('claim-chart', tested.length);
  const end = Math.max(...tested.flatMap(row => [row.effect.high, row.claimed.high || row.claimed.low])) * 1.25;
  draw(element, c => {
    const of = verdict => value => tested.map(row => row.verdict === verdict ? value(row) : null);
    const sets =
        Object.keys(kColours).filter(verdict => tested.some(row => row.verdict === verdict)).flatMap(verdict => {
          const colour = c[kColours[verdict]];
          return [
            {
              type: 'line',
              label: say(verdict),
              showLine: false,
              pointRadius: 4,
              data: of(verdict)(row => row.effect.value),
              borderColor: colour,
              backgroundColor: colour
            },
            {
              label: '',
              data: of(verdict)(row => [row.effect.low, row.effect.high]),
              grouped: false,
              barThickness: 5,
              minBarLength: 3,
              backgroundColor: colour
            }
          ];
        });
    return {
      type: 'bar',
      data: {
        labels: tested.map(label),
        datasets: [
          ...sets, {
            label: say('claimed'),
            data: tested.map(row => [row.claimed.low, row.claimed.high === null ? end : row.claimed.high]),
            grouped: false,
            barThickness: 15,
            minBarLength: 3,
            backgroundColor: faded(c.memory)
          }
        ]
      },
      options: bars(
          c, {
            x: axis(
                c, 'times as fast, or share of the limit',
                {type: 'logarithmic', max: end, ticks: ridge.fifths(value => `${Number(value.toPrecision(2))}`)}),
            y: labelAxis(c),
          },
          {
            filter: item => item.dataset.label !== '',
            callbacks: {
              title: items => items.length ?
                  `${tested[items[0].dataIndex].claim}${colon()}${against(tested[items[0].dataIndex])}` :
                  '',
              label: item => {
                const row = tested[item.dataIndex];
                const at = shown(row);
                return item.dataset.label === say('claimed') ?
                    `${say('claimed')} ${say(row.claimed.text)}` :
                    `${say('measured')} ${at(row.effect.value)} [${at(row.effect.low)}, ${at(row.effect.high)}]${
                        colon()}${say(row.verdict)}`;
              }
            }
          }),
    };
  });
  return section(
      'claims', 'Claims and measurements', box,
      quiet(
          'The broad bar is what the handbook claims, open to the right where it names no upper end; dot and ' +
              'thin bar are what was measured here, with its 95 % interval.'));
}

// Registers per thread and occupancy of both variants, if the device reports them.
const resident = row => row.variant_registers === undefined || row.baseline_registers === undefined ?
    null :
    make(
        'p', null, {class: 'quiet'},
        ['variant', 'baseline'].flatMap(
            (way, i) =>
                [i ? ` ${say('against')} ` : '', number('span', String, `${row.member}.${way}_registers`),
                 ` ${say('registers')}, `, number('span', ridge.percentOf, `${row.member}.${way}_occupancy_percent`),
                 ` ${say('occupancy')}`]));

function rows() {
  if (tested.length === 0) return null;
  const body = tested.map(row => {
    const at = shown(row);
    const of = (field, format) => cell(format, `${row.member}.${field}`);
    return [
      make('td', null, {class: 'name'}, make('b', row.claim), ` ${claimText(row)}`),
      make('td', say(row.verdict), {class: row.verdict === 'contradicted' ? 'warn' : ''}), of('effect.value', at),
      of('effect.low', at), of('effect.high', at), make('td', say(row.claimed.text), {class: 'number'}),
      of('variant_seconds', seconds), of('baseline_seconds', seconds),
      make(
          'td', null, {class: 'name wide'}, make('b', against(row)), quiet(row.work), make('p', say(row.explanation)),
          resident(row))
    ];
  });
  return longSection('ledger', 'Ledger', table(
    ['claim', 'verdict', '#measured', '#≥', '#≤', '#claimed', '#time', '#against', 'compared, and why'], body));
}

const ofBytes = one => one.variants.every(way => known(way.bytes_per_s));
const rateOf = way => known(way.bytes_per_s) ? way.bytes_per_s : way.flops_per_s;

// One case: bars by name, or a line over the parameter.
function plotted(one, index) {
  const swept = one.parameter && one.variants.every(way => known(way.at));
  const format = ofBytes(one) ? bandwidth : rate;
  const [element, box] = swept ? canvas(`case-${index}`, true) : tallCanvas(`case-${index}`, one.variants.length);
  const tooltip = {
    callbacks: {
      label: item =>
          `${say(one.variants[item.dataIndex].name)}${colon()}${format(rateOf(one.variants[item.dataIndex]))}`
    }
  };
  const points = one.variants.map(way => ({x: way.at, y: rateOf(way)}));
  draw(
      element,
      c => swept ?
          {
            type: 'line',
            data: {
              datasets: [{
                label: one.experiment,
                data: points,
                borderColor: c.accent,
                backgroundColor: c.accent,
                borderWidth: 2,
                pointRadius: 4
              }]
            },
            options: plain(
                c, {
                  x: axis(c, one.parameter, {type: 'logarithmic', ...ticksAt(points.map(point => point.x))}),
                  y: axis(c, '', {beginAtZero: true, ticks: {callback: format, maxTicksLimit: 7}}),
                },
                tooltip, false),
          } :
          {
            type: 'bar',
            data: {
              labels: one.variants.map(way => short(say(way.name))),
              datasets: [{
                label: one.experiment,
                data: one.variants.map(rateOf),
                backgroundColor: faded(c.accent),
                maxBarThickness: 18
              }]
            },
            options: bars(
                c,
                {x: axis(c, '', {beginAtZero: true, ticks: {callback: format, autoSkipPadding: 16}}), y: labelAxis(c)},
                tooltip, false),
          });
  const cells = one.variants.map((way, i) => [
    make('td', say(way.name), {class: 'name'}), cell(seconds, `cases.${index}.variants.${i}.seconds`),
    cell(format, `cases.${index}.variants.${i}.${known(way.bytes_per_s) ? 'bytes' : 'flops'}_per_s`)]);
  return make(
      'div', null, {class: 'case'}, make('h3', `${say(one.experiment)}${colon()}${say(one.work)}`), box,
      table(['variant', '#time', '#rate'], cells));
}

function cases() {
  if (ledger.cases.length === 0) return null;
  return longSection('cases', 'Every variant of every case',
    quiet('Medians of all rounds. Bytes and FLOPs are those that the work itself needs.'),
    make('div', null, {class: 'cases'}, ledger.cases.map(plotted)));
}

function missing() {
  if (untested.length === 0) return null;
  return section('untested', 'Not tested here', table(['', 'claim', 'why'], untested.map(row =>
    [make('td', row.claim), prose(claimText(row)), prose(row.explanation)])));
}

function conditions() {
  const text = value => Array.isArray(value) ? value.join(' ') : String(value);
  const body =
      Object.entries(ledger.conditions)
          .filter(([, value]) => known(value) && value !== '')
          .map(
              ([key, value]) =>
                  [say(key.replaceAll('_', ' ')),
                   typeof value === 'number' ? number(
                                                   'td', v => v.toLocaleString('en-US', {maximumFractionDigits: 3}),
                                                   `conditions.${key}`, {class: 'name'}) :
                                               name(text(value))]);
  return section('conditions', 'Conditions', table(['condition', 'value'], body));
}

ridge.page(() => [title(), claims(), rows(), cases(), missing(), conditions()]);
})();
