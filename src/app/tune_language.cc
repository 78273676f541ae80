#include "app/tune_language.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/decoder_model.h"
#include "app/known_machine.h"
#include "app/language_forms.h"
#include "checkpoint/graph_folder.h"
#include "cost/costs.h"
#include "engine/engines.h"
#include "llm/cpu/decoder_limit.h"
#include "llm/trace.h"
#include "measure/interleave.h"
#include "serve/language_files.h"
#include "tune/budget.h"
#include "tune/language/selection.h"
#include "tune/repository.h"

namespace ridge::app {
namespace {

using llm::cpu::Load;
using tune::Choice;
using tune::language::Candidate;
using tune::language::Form;
using tune::language::Group;
using tune::language::JudgedForm;
using tune::language::LanguageTuning;
using tune::language::MeasuredCandidate;
using tune::language::Priced;

constexpr double kRounds = 4;                                     // of a group, that its time should do for
constexpr int64_t kFewestPerSequence = 2, kMostPerSequence = 10;  // requests of a measurement, per sequence at once
constexpr int64_t kLeastRounds = 2, kConfirmRounds = 5;           // even if the time is over
constexpr size_t kFormsByThreads = 2;                             // the best forms are tried with fewer threads too

const tune::SkipReason kFewerThreads = {"threads-of-best-only",
                                        "fewer threads are tried with the two forms that are predicted best"};
const tune::SkipReason kNotOpened = {"not-opened", "its decoder did not open beside that of the defaults"};

// A form that can be measured: what its decoder said when it was open.
struct KnownForm {
  Form form;
  int threads = 1;
  engine::DecoderInfo info;
  int64_t blocks = 0;
  generate::StepLine line;
  double perplexity_ratio = 0;
};

// The arms' loads, round by round.
struct ArmRecord {
  Candidate candidate;
  std::vector<llm::cpu::Served> rounds = {};
  double bound_s = 0, step_s = 0;  // of the first round
};

Form reference_form(const LanguageTuneRequest& request, const std::string& engine) {
  const bool half =
      request.reference == engine::WeightFormat::kBf16 || request.reference == engine::WeightFormat::kFp16;
  return {engine, request.reference, half ? engine::CacheForm::kBf16 : engine::CacheForm::kFp32};
}

std::vector<std::string> engines_of(const LanguageTuneRequest& request, const std::string& first) {
  std::vector<std::string> engines = {first};
  if (!request.engine.empty()) return engines;
  for (const engine::Engine& row : engine::known())
    if (row.open_decoder != nullptr && !row.for_tests && row.name != first) engines.emplace_back(row.name);
  return engines;
}

// Adds the forms of weights that the folder can have.
Result<LanguageTuneRequest> with_forms(LanguageTuneRequest request) {
  using engine::WeightFormat;
  const bool graph = checkpoint::is_graph_folder(request.folder);
  RIDGE_ASSIGN(const WeightFormat usual, engine::form_of(request.folder, {}));
  if (graph) request.reference = usual;
  for (const WeightFormat asked : request.weights) RIDGE_TRY(engine::form_of(request.folder, asked));
  if (request.weights.empty())
    request.weights =
        graph ? std::vector{usual}
              : std::vector{WeightFormat::kBf16, WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kFp32};
  return request;
}

Status check_load(const LanguageTuneRequest& request, int64_t context) {
  const int64_t longest = request.load.prompt_max + request.load.output_max;
  if (context == 0 || longest <= context) return {};
  return invalid(fmt::format("a prompt of {} tokens and an answer of {} need {}; the context of {} has {}",
                             request.load.prompt_max, request.load.output_max, longest, request.folder, context));
}

// What the steps share; judge_forms() fills in the last parts, in this order.
struct LanguageTuneModel {
  const LanguageTuneRequest& request;
  const RunControl& control;
  const llm::Model& architecture;
  const machine::Machine& machine;
  Candidate defaults;
  tune::Budget budget;
  LanguageForms forms;
  OpenedForm baseline = {};  // of the defaults; stays open: every candidate is interleaved with it
  Load load = {};
  std::vector<KnownForm> known = {};
};

// Tokens that the load keeps in the cache at once.
int64_t kept_tokens(const llm::Workload& load) {
  const auto count = static_cast<int64_t>(load.trace.size());
  return (load.prompt_max + load.output_max) * (load.concurrency > 0 ? load.concurrency : count);
}

Result<LanguageTuneModel> model_of(const LanguageTuneRequest& request, const llm::Model& architecture,
                                   const machine::Machine& machine, int threads, const RunControl& control) {
  RIDGE_ASSIGN(const std::string engine, decoder_engine(request.engine));
  RIDGE_ASSIGN(const auto usual, engine::form_of(request.folder, {}));
  return LanguageTuneModel{request,
                           control,
                           architecture,
                           machine,
                           {.form = {.engine = engine, .weights = usual}, .threads = threads},
                           tune::Budget(request.seconds, *control.clock),
                           LanguageForms({.library = request.library, .folder = request.folder},
                                         kept_tokens(request.load), free_bytes(machine.memory), control)};
}

const KnownForm* known(const LanguageTuneModel& model, const Form& form, int threads) {
  const auto found =
      std::ranges::find_if(model.known, [&](const KnownForm& k) { return k.form == form && k.threads == threads; });
  return found == model.known.end() ? nullptr : &*found;
}

void know(LanguageTuneModel& model, const LanguageTuning& tuning, const Form& form, int threads,
          const OpenedForm& opened) {
  const auto judged = std::ranges::find(tuning.forms, form, &JudgedForm::form);
  const double ratio = judged->deviation ? judged->deviation->perplexity_ratio : 0;
  model.known.push_back({form, threads, opened.decoder->info(), opened.blocks, opened.line, ratio});
}

Result<llm::cpu::Figures> predicted(const LanguageTuneModel& model, const Candidate& candidate) {
  const KnownForm& form = *known(model, candidate.form, candidate.threads);
  RIDGE_ASSIGN(const llm::cpu::Served served,
               llm::cpu::predict(settings_of(candidate, form.info, form.blocks, form.line), model.load));
  return llm::cpu::figures_of({&served, 1}, model.request.goals);
}

Status open_reference(LanguageTuneModel& model, std::span<const int32_t> text, LanguageTuning& tuning) {
  tuning.reference = reference_form(model.request, model.defaults.form.engine);
  model.control.report("open the reference, " + describe(tuning.reference), 0);
  const auto open = [&] {
    return model.forms.set_reference(tuning.reference, text, model.request.text_tokens, model.defaults.threads);
  };
  Status opened = open();
  if (!opened && opened.error().code == Code::kUnsupported && tuning.reference.cache == engine::CacheForm::kBf16) {
    tuning.reference.cache = engine::CacheForm::kFp32;  // a CPU without BF16
    opened = open();
  }
  tuning.reference_perplexity = model.forms.reference_perplexity();
  return opened;
}

bool accepted(const LanguageTuning& tuning, const Form& form) {
  const auto judged = std::ranges::find(tuning.forms, form, &JudgedForm::form);
  return judged != tuning.forms.end() && judged->accepted();
}

Status judge(LanguageTuneModel& model, const Form& form, LanguageTuning& tuning) {
  if (model.budget.over(tune::Part::kVariants) && form != model.defaults.form) {
    tuning.forms.push_back({form, tune::kUnfinished, "the time for judging forms ended before it"});
    return {};
  }
  model.control.report("judge " + describe(form), static_cast<double>(tuning.forms.size()) / 12 / 2);
  Result<LanguageForms::Judged> judged = model.forms.judge(form, model.defaults.threads, model.request.bounds);
  if (!judged) return judged.error();
  tuning.forms.push_back(std::move(judged->judged));
  if (judged->opened.decoder == nullptr) return {};
  know(model, tuning, form, model.defaults.threads, judged->opened);
  if (form == model.defaults.form) model.baseline = std::move(judged->opened);
  return {};
}

// The two forms that are predicted best, with half of the threads.
Status know_threads(LanguageTuneModel& model, LanguageTuning& tuning) {
  if (model.defaults.threads < 2) return {};
  std::vector<const JudgedForm*> best;
  for (const JudgedForm& judged : tuning.forms)
    if (judged.accepted()) best.push_back(&judged);
  std::ranges::stable_sort(best, std::greater(), [](const JudgedForm* f) { return score_of(*f->predicted); });
  for (size_t i = 0; i < best.size(); ++i) {
    if (i >= kFormsByThreads) {
      count_skip(tuning.skipped, kFewerThreads);
      continue;
    }
    if (model.budget.over(tune::Part::kVariants) || model.control.stopped()) {
      count_skip(tuning.skipped, tune::kBudgetEnded);
      continue;
    }
    Result<OpenedForm> opened = model.forms.open(best[i]->form, model.defaults.threads / 2);
    if (opened)
      know(model, tuning, best[i]->form, model.defaults.threads / 2, *opened);
    else
      count_skip(tuning.skipped, kNotOpened);
  }
  return {};
}

// As many requests as fit a part of the time, as predicted for the defaults.
Status size_load(LanguageTuneModel& model, std::span<const int32_t> text) {
  llm::Workload workload = model.request.load;
  workload.requests = kFewestPerSequence * workload.concurrency;
  model.load = {llm::requests_of(workload, llm::EngineKind::kVllm), workload.trace.empty() ? workload.concurrency : 0};
  model.load.text = text;
  if (model.load.concurrency == 0) return {};
  RIDGE_ASSIGN(const llm::cpu::Figures figures, predicted(model, model.defaults));
  constexpr double kArms = 8;  // of all groups, that should be measured: two groups of four
  const double share = share_until(tune::Part::kSearch) - share_until(tune::Part::kVariants);
  const double seconds = model.budget.seconds() * share / (kRounds * kArms);
  workload.requests = std::clamp(static_cast<int64_t>(seconds * figures.requests_per_s), workload.requests,
                                 kMostPerSequence * workload.concurrency);
  model.load.requests = llm::requests_of(workload, llm::EngineKind::kVllm);
  return {};
}

// The reference, then every form: the defaults' first.
Status judge_forms(LanguageTuneModel& model, std::span<const int32_t> text, LanguageTuning& tuning) {
  const LanguageTuneRequest& request = model.request;
  const Candidate& defaults = model.defaults;
  RIDGE_TRY(open_reference(model, text, tuning));
  RIDGE_TRY(judge(model, defaults.form, tuning));
  if (model.baseline.decoder == nullptr) {
    RIDGE_ASSIGN(model.baseline, model.forms.open(defaults.form, defaults.threads));
    know(model, tuning, defaults.form, defaults.threads, model.baseline);
  }
  RIDGE_TRY(check_load(request, model.baseline.decoder->info().context));
  tuning.engine_version = model.baseline.decoder->info().engine.version;
  RIDGE_TRY(size_load(model, text));
  tuning.requests = static_cast<int64_t>(model.load.requests.size());
  for (const std::string& engine : engines_of(request, defaults.form.engine))
    for (const engine::CacheForm cache : request.caches)
      for (const auto weights : request.weights)
        if (const Form form{engine, weights, cache}; form != defaults.form) RIDGE_TRY(judge(model, form, tuning));
  for (JudgedForm& judged : tuning.forms)
    if (judged.accepted()) {
      RIDGE_ASSIGN(judged.predicted, predicted(model, {.form = judged.form, .threads = defaults.threads}));
    }
  return know_threads(model, tuning);
}

Result<std::vector<Group>> select_candidates(const LanguageTuneModel& model, LanguageTuning& tuning) {
  std::vector<Priced> priced;
  for (const KnownForm& form : model.known) {
    if (!accepted(tuning, form.form)) continue;
    model.control.report(fmt::format("predict {}, {} threads", describe(form.form), form.threads), 0.5);
    for (const Candidate& candidate : settings_for(form.form, form.threads, model.load, model.request.goals)) {
      RIDGE_ASSIGN(const llm::cpu::Figures figures, predicted(model, candidate));
      priced.push_back({candidate, figures});
    }
  }
  tune::language::Selection selection = tune::language::select(priced);
  tuning.skipped.insert(tuning.skipped.end(), selection.skipped.begin(), selection.skipped.end());
  return std::move(selection.groups);
}

Result<llm::cpu::DecoderLimit> limit_of(const LanguageTuneModel& model, const OpenedForm& opened,
                                        const Candidate& candidate) {
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(model.machine, candidate.threads));
  return llm::cpu::DecoderLimit(model.architecture, candidate.form.weights, candidate.form.cache,
                                opened.decoder->info().weight_bytes, limits,
                                machine::quota_factor(model.machine, candidate.threads));
}

Result<measure::Slice> run_once(const LanguageTuneModel& model, const OpenedForm& opened, ArmRecord& record) {
  const bool first = record.rounds.empty();
  const generate::Settings settings = settings_of(record.candidate, opened.decoder->info(), opened.blocks, opened.line);
  std::function<void(const generate::Step&, Nanoseconds)> ran;
  RIDGE_ASSIGN(const llm::cpu::DecoderLimit limit, limit_of(model, opened, record.candidate));
  if (first)
    ran = [&](const generate::Step& step, Nanoseconds time) {
      record.step_s += to_seconds(time);
      record.bound_s += limit.seconds(step.sequences);
    };
  RIDGE_ASSIGN(llm::cpu::Served served, llm::cpu::serve(*opened.decoder, settings, model.load, *model.control.clock,
                                                        model.control.interrupted, ran));
  const double rate = llm::cpu::figures_of({&served, 1}, {}).output_tokens_per_s;
  record.rounds.push_back(std::move(served));
  return measure::Slice{.rate = rate};
}

Result<MeasuredCandidate> measured_of(const LanguageTuneModel& model, const ArmRecord& record,
                                      const ArmRecord& baseline) {
  MeasuredCandidate m;
  m.candidate = record.candidate;
  m.figures = figures_of(record.rounds, model.request.goals);
  RIDGE_ASSIGN(m.predicted, predicted(model, record.candidate));
  m.rounds = static_cast<int64_t>(record.rounds.size());
  std::vector<double> scores, usual;
  for (size_t i = 0; i < record.rounds.size(); ++i) {
    scores.push_back(score_of(llm::cpu::figures_of({&record.rounds[i], 1}, model.request.goals)));
    usual.push_back(score_of(llm::cpu::figures_of({&baseline.rounds[i], 1}, model.request.goals)));
    m.drafted_tokens += record.rounds[i].drafted_tokens;
    m.accepted_tokens += record.rounds[i].accepted_tokens;
    m.preemptions += record.rounds[i].preemptions;
  }
  m.gain = tune::language::advantage_of(scores, usual);
  if (record.step_s > 0 && record.bound_s > 0) {
    m.percent_of_limit = 100 * record.bound_s / record.step_s;
    const llm::cpu::Served& first = record.rounds.front();
    m.limit_tokens_per_s = llm::cpu::figures_of({&first, 1}, {}).output_tokens_per_s * first.seconds / record.bound_s;
  }
  m.perplexity_ratio = known(model, record.candidate.form, record.candidate.threads)->perplexity_ratio;
  return m;
}

// Interleaves the defaults and the candidates, whose decoder is `opened`. Empty: interrupted in the first round.
Result<std::vector<MeasuredCandidate>> run(const LanguageTuneModel& model, const OpenedForm& opened,
                                           std::span<const Candidate> candidates, int64_t least_rounds,
                                           double seconds) {
  std::vector<ArmRecord> records = {{model.defaults}};
  for (const Candidate& candidate : candidates) records.push_back({candidate});
  std::vector<measure::Arm> arms;
  for (ArmRecord& record : records)
    arms.push_back({describe_settings(record.candidate), [&]() -> Result<std::vector<measure::Slice>> {
                      const bool baseline = &record == &records.front();
                      RIDGE_ASSIGN(const measure::Slice slice,
                                   run_once(model, baseline ? model.baseline : opened, record));
                      return std::vector{slice};
                    }});
  measure::InterleaveOptions how{
      .stop = {.min_samples = kConfirmRounds, .sure_samples = least_rounds, .min_time = Nanoseconds(0)},
      .seed = model.request.load.seed,
      .interrupted = model.control.interrupted};
  how.stop.max_time = from_seconds(seconds);
  const measure::InterleavedResult result = measure::interleave(arms, how, *model.control.clock);
  if (result.failed_arm) return wrap(result.failure, arms[*result.failed_arm].name);
  std::vector<MeasuredCandidate> measured;
  if (result.rounds.empty()) return measured;
  for (ArmRecord& record : records)
    record.rounds.resize(result.rounds.size());  // without what belongs to no whole round
  for (const ArmRecord& record : records) {
    RIDGE_ASSIGN(MeasuredCandidate one, measured_of(model, record, records.front()));
    measured.push_back(std::move(one));
  }
  return measured;
}

// Returns the decoder of the defaults, or `own`, opened beside it. Null: it did not open.
Result<const OpenedForm*> decoder_of(LanguageTuneModel& model, const Form& form, int threads, OpenedForm& own,
                                     LanguageTuning& tuning) {
  if (form == model.defaults.form && threads == model.defaults.threads) return &model.baseline;
  Result<OpenedForm> opened = model.forms.open(form, threads);
  if (!opened && opened.error().code == Code::kCancelled) return opened.error();
  if (!opened) {
    tuning.notes.push_back(fmt::format("{}: {}", describe(form), opened.error().message));
    return nullptr;
  }
  own = std::move(*opened);
  return &own;
}

Status measure_group(LanguageTuneModel& model, const Group& group, double seconds, LanguageTuning& tuning) {
  OpenedForm own;
  RIDGE_ASSIGN(const OpenedForm* opened, decoder_of(model, group.form, group.threads, own, tuning));
  std::vector<Candidate> candidates;
  for (const Priced& priced : group.candidates)
    if (opened == nullptr)
      count_skip(tuning.skipped, kNotOpened);
    else if (priced.candidate != model.defaults)
      candidates.push_back(priced.candidate);
  if (opened == nullptr) return {};
  RIDGE_ASSIGN(std::vector<MeasuredCandidate> measured, run(model, *opened, candidates, kLeastRounds, seconds));
  if (measured.empty()) return {};  // interrupted
  tuning.baseline = std::move(measured.front());
  tuning.candidates.insert(tuning.candidates.end(), std::make_move_iterator(measured.begin() + 1),
                           std::make_move_iterator(measured.end()));
  return {};
}

Status measure(LanguageTuneModel& model, std::span<const Group> groups, LanguageTuning& tuning) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    if (model.control.stopped() || (i > 0 && model.budget.over(tune::Part::kSearch))) {
      for (size_t left = 0; left < group.candidates.size(); ++left) count_skip(tuning.skipped, tune::kBudgetEnded);
      continue;
    }
    model.control.report(fmt::format("measure {}, {} threads", describe(group.form), group.threads),
                         0.5 + 0.3 * static_cast<double>(i) / static_cast<double>(groups.size()));
    RIDGE_TRY(measure_group(model, group,
                            model.budget.left(tune::Part::kSearch) / static_cast<double>(groups.size() - i), tuning));
  }
  std::ranges::stable_sort(tuning.candidates, std::greater(),
                           [](const MeasuredCandidate& m) { return score_of(m.figures); });
  tuning.interrupted = model.control.stopped();
  return {};
}

Choice choice_of(const LanguageTuning& tuning, const Candidate& defaults) {
  const bool keeps = accepted(tuning, defaults.form);
  const bool measured = tuning.best.rounds > 0 && (keeps || tuning.best.candidate != defaults);
  const double best = score_of(tuning.best.figures), usual = score_of(tuning.baseline.figures);
  if (!measured || (!(best > 0) && !(keeps && usual > 0))) return Choice::kNone;
  return tuning.best.candidate != defaults && (!keeps || is_better(tuning.best)) ? Choice::kCandidate
                                                                                 : Choice::kBaseline;
}

// The best of the search and the defaults again, longer. What is not better with confidence leaves the defaults, where
// these are accepted.
Status confirm(LanguageTuneModel& model, LanguageTuning& tuning) {
  const MeasuredCandidate* best = tune::language::best_of(tuning.candidates);
  tuning.best = best == nullptr ? tuning.baseline : *best;
  if (best != nullptr && !model.control.stopped()) {
    model.control.report("confirm " + describe(best->candidate.form), 0.85);
    OpenedForm own;
    RIDGE_ASSIGN(const OpenedForm* opened,
                 decoder_of(model, best->candidate.form, best->candidate.threads, own, tuning));
    if (opened != nullptr) {
      RIDGE_ASSIGN(std::vector<MeasuredCandidate> measured,
                   run(model, *opened, {&best->candidate, 1}, kConfirmRounds, model.budget.left(tune::Part::kConfirm)));
      tuning.confirmed = !measured.empty();
      if (tuning.confirmed) {
        tuning.baseline = std::move(measured[0]);
        tuning.best = std::move(measured[1]);
      }
    }
  }
  tuning.choice = choice_of(tuning, model.defaults);
  if (tuning.choice == Choice::kBaseline) tuning.best = tuning.baseline;
  tuning.interrupted = model.control.stopped();
  return {};
}

void describe_request(const LanguageTuneRequest& request, const cost::DeviceLimits& limits, LanguageTuning& tuning) {
  tuning.model = request.folder;
  tuning.prompt_min = request.load.prompt_min;
  tuning.prompt_max = request.load.prompt_max;
  tuning.output_min = request.load.output_min;
  tuning.output_max = request.load.output_max;
  tuning.concurrency = request.load.trace.empty() ? request.load.concurrency : 0;
  tuning.trace = request.trace;
  tuning.goals = request.goals;
  tuning.text = request.text_name;
  tuning.bounds = request.bounds;
  tuning.device = limits.device;
}

Status save(const LanguageTuneRequest& request, int machine_threads, const machine::Machine& machine,
            LanguageTuning& tuning) {
  if (request.repository.empty() || tuning.choice == Choice::kNone) return {};
  tune::RepositoryEntry entry;
  entry.name = request.name;
  entry.checkpoint = request.folder;
  entry.config_pbtxt = config_text(request.name, tuning.best.candidate, machine_threads);
  entry.tuning_json = dump_json(document(about(request.command, machine), json_of(tuning)), true) + "\n";
  RIDGE_ASSIGN(tuning.repository, tune::save(entry, request.repository, request.overwrite));
  return {};
}

}  // namespace

Result<LanguageTuneResult> tune_language(const LanguageTuneRequest& given, const RunControl& control) {
  const TimePoint begin = control.clock->now();
  RIDGE_ASSIGN(const LanguageTuneRequest request, with_forms(given));
  RIDGE_ASSIGN(const llm::Model architecture, read_decoder_model(request.folder));
  RIDGE_TRY(check_load(request, architecture.context));
  RIDGE_ASSIGN(const serve::LanguageFiles files, serve::read_language_files(request.folder, false));
  RIDGE_ASSIGN(const std::vector<int32_t> text, files.tokenizer.encode(request.text, false));
  if (text.empty()) return invalid(fmt::format("the text ({}) has no tokens", request.text_name));
  RIDGE_ASSIGN(const machine::Machine machine, know_machine(request.fresh, control));
  const int usable = machine::usable_threads(machine);
  const int threads = request.threads > 0 ? std::min(request.threads, usable) : usable;
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(machine, threads));
  machine::DisturbanceWatch watch;
  RIDGE_ASSIGN(LanguageTuneModel tuned, model_of(request, architecture, machine, threads, control));
  LanguageTuneResult result;
  LanguageTuning& tuning = result.tuning;
  RIDGE_TRY(judge_forms(tuned, text, tuning));
  RIDGE_ASSIGN(const std::vector<Group> groups, select_candidates(tuned, tuning));
  RIDGE_TRY(measure(tuned, groups, tuning));
  RIDGE_TRY(confirm(tuned, tuning));
  describe_request(request, limits, tuning);
  tuning.disturbance = watch.end();
  tuning.seconds = to_seconds(control.clock->now() - begin);
  result.saved = save(request, usable, machine, tuning);
  return result;
}

}  // namespace ridge::app
