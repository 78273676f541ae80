// Draws the diagnosis of a machine in the element "data". Numbers keep their value in data-value.
(() => {
const doctor = ridge.data;
const {say, sentence, make, section, longSection, prose, figure, figures, table, listTable, expander, header, listed} =
    ridge;

const kVerdicts = ['fail', 'warn', 'ok', 'not_applicable'];
const kClass = {fail: 'warn', warn: 'compute', ok: 'good', not_applicable: 'quiet'};
const bad = finding => finding.verdict === 'fail' || finding.verdict === 'warn';

function title() {
  const worst = doctor.findings.filter(finding => finding.verdict === (doctor.ready ? 'warn' : 'fail'))
                    .map(finding => say(finding.title));
  const id = doctor.ready ? doctor.warn > 0 ? 'doctor.warnings' : 'doctor.ready' : 'doctor.not_ready';
  return [
    header(
        say('Diagnosis of this machine'),
        make(
            'p', sentence(id, doctor.summary, {count: doctor.warn, ok: doctor.ok, what: listed(worst)}),
            {id: 'summary'})),
    figures(kVerdicts.map(verdict => figure(verdict.replace('_', ' '), String, verdict)))
  ];
}

const verdictCell = finding => make('td', say(finding.verdict.replace('_', ' ')), {class: kClass[finding.verdict]});

function problems() {
  const rows = doctor.findings.filter(bad).map(
      finding =>
          [verdictCell(finding),
           make(
               'td', null, {class: 'name'}, make('b', say(finding.title)),
               make('p', finding.id, {class: 'quiet', translate: 'no'})),
           prose(finding.evidence), prose(finding.remedy)]);
  return rows.length ? longSection('problems', 'What to do', table(['verdict', 'check', 'evidence', 'remedy'], rows)) :
                       null;
}

function areas() {
  return [...new Set(doctor.findings.map(finding => finding.area))].map(area => {
    const all = doctor.findings.filter(finding => finding.area === area);
    const rows = all.map(
        finding =>
            [verdictCell(finding), make('td', say(finding.title), {class: 'name'}), prose(finding.evidence),
             make('td', say(finding.origin), {class: 'name quiet'})]);
    const counts = kVerdicts.map(verdict => [verdict, all.filter(finding => finding.verdict === verdict).length])
                       .filter(([, count]) => count)
                       .map(([verdict, count]) => `${count} ${say(verdict.replace('_', ' '))}`);
    return longSection(
        `area-${area}`, `area ${area}`,
        expander(listed(counts), table(['verdict', 'check', 'evidence', 'source'], rows), all.some(bad)));
  });
}

function gpus() {
  const cards = doctor.cards || [];
  if (cards.length === 0) return null;
  const links = doctor.topology && cards.length > 1 ?
      table(['', ...cards.map((_, i) => `GPU ${i}`)], doctor.topology.map((row, i) => [`GPU ${i}`, ...row])) :
      null;
  return section('gpus', 'GPUs', listTable('cards'), links);
}

ridge.page(() => [title(), problems(), gpus(), areas()]);
})();
