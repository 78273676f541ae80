// Draws the check of a machine with a GPU in the element "data", row by row. Numbers keep their value in data-value.
(() => {
const check = ridge.data;
const {say, rate, flops, bandwidth, seconds, ratio, digits, make, longSection, warning, prose, known, number, figure,
       figures, table, header} = ridge;

const kClass = {pass: 'good', fail: 'warn', 'not possible': 'quiet'};
const kShow = {'FLOP/s': rate, 'B/s': bandwidth, s: seconds, '×': ratio};
const kGroups = {
  facts: 'Facts',
  limits: 'Limits, measured twice',
  lab: 'Experiments',
  torch: 'References by PyTorch',
  engines: 'Engines',
  memory: 'CUDA shared memory',
  sanitizer: 'compute-sanitizer'
};
const rows = check.rows.map((row, i) => ({...row, member: `rows.${i}`, show: kShow[row.unit] || digits}));
const verdictCell = row => make('td', say(row.verdict), {class: kClass[row.verdict]});

function expected(row) {
  if (!row.expected) return make('td', '–');
  if (row.expected.text) return make('td', say(row.expected.text));
  const [low, high] = ['low', 'high'].map(
      end => known(row.expected[end]) ? number('span', row.show, `${row.member}.expected.${end}`) : make('span', '…'));
  return make('td', null, {}, low, ' – ', high, make('p', say(row.expected.source), {class: 'quiet'}));
}

const found = row => make(
    'td', null, {class: 'name wide'}, known(row.value) ? number('b', row.show, `${row.member}.value`) : null,
    [row.found, row.reason].filter(text => text).map(text => make('p', say(text))));
// The command that found it, in the row's name.
const what = row => make('td', null, {class: 'name'}, make('span', say(row.what), {title: row.command}));

function title() {
  return [
    header(check.device, check.interrupted ? warning('interrupted') : null),
    figures(
        figure('pass', String, 'counts.pass'), figure('fail', String, 'counts.fail'),
        figure('not possible', String, 'counts.not_possible'), figure('duration', seconds, 'seconds'))
  ];
}

function failures() {
  const failed = rows.filter(row => row.verdict === 'fail');
  return failed.length ? longSection('failed', 'What to do', table(['check', 'expected', 'found', 'remedy'],
    failed.map(row => [what(row), expected(row), found(row), prose(row.do)]))) : null;
}

function groups() {
  return [...new Set(rows.map(row => row.group))].map(
      group => longSection(
          `group-${group}`, kGroups[group] || group,
          table(
              ['verdict', 'check', 'expected', 'found'],
              rows.filter(row => row.group === group)
                  .map(row => [verdictCell(row), what(row), expected(row), found(row)]))));
}

ridge.page(() => [title(), failures(), groups()]);
})();
