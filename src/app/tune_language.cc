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
using tune::language::Candidate;
using tune::language::Form;
using tune::language::Group;
using tune::language::JudgedForm;
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
  const bool half = request.reference == engine::WeightForm::kBf16 || request.reference == engine::WeightForm::kFp16;
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
  using engine::WeightForm;
  const bool graph = checkpoint::is_graph_folder(request.folder);
  RIDGE_ASSIGN(const WeightForm usual, engine::form_of(request.folder, {}));
  if (graph) request.reference = usual;
  for (const WeightForm asked : request.weights) RIDGE_TRY(engine::form_of(request.folder, asked));
  if (request.weights.empty())
    request.weights = graph ? std::vector{usual}
                            : std::vector{WeightForm::kBf16, WeightForm::kInt8, WeightForm::kInt4, WeightForm::kFp32};
  return request;
}

Status check_load(const LanguageTuneRequest& request, int64_t context) {
  const int64_t longest = request.load.prompt_max + request.load.output_max;
  if (context == 0 || longest <= context) return {};
  return invalid(fmt::format("a prompt of {} tokens and an answer of {} need {}; the context of {} has {}",
                             request.load.prompt_max, request.load.output_max, longest, request.folder, context));
}

class LanguageTuner {
 public:
  LanguageTuner(const LanguageTuneRequest& request, const RunControl& control, const llm::Model& model,
                std::span<const int32_t> text, const machine::Machine& machine, int threads)
      : request_(request),
        control_(control),
        model_(model),
        text_(text),
        machine_(machine),
        threads_(threads),
        budget_(request.seconds, *control.clock),
        forms_({.library = request.library, .folder = request.folder}, kept_tokens(request), free_bytes(machine.memory),
               control) {}

  Status judge_forms();
  Status select_candidates();
  Status measure();
  Status confirm();
  tune::language::LanguageTuning take() { return std::move(tuning_); }

 private:
  static int64_t kept_tokens(const LanguageTuneRequest& request) {
    const auto count = static_cast<int64_t>(request.load.trace.size());
    return (request.load.prompt_max + request.load.output_max) *
           (request.load.concurrency > 0 ? request.load.concurrency : count);
  }
  Status judge(const Form& form);
  Status know_threads();
  Status size_load();
  void know(const Form& form, int threads, const OpenedForm& opened);
  const KnownForm* known(const Form& form, int threads) const;
  Result<llm::cpu::Figures> predicted(const Candidate& candidate) const;
  Result<const OpenedForm*> decoder_of(const Form& form, int threads, OpenedForm& own);
  Status measure_group(const Group& group, double seconds);
  Result<std::vector<MeasuredCandidate>> run(const OpenedForm& opened, std::span<const Candidate> candidates,
                                             int64_t least_rounds, double seconds);
  Result<measure::Slice> run_once(const OpenedForm& opened, ArmRecord& record);
  Result<MeasuredCandidate> measured_of(const ArmRecord& record, const ArmRecord& baseline) const;
  Result<llm::cpu::DecoderLimit> limit_of(const OpenedForm& opened, const Candidate& candidate) const;
  void conclude();
  bool accepted(const Form& form) const;

  const LanguageTuneRequest& request_;
  const RunControl& control_;
  const llm::Model& model_;
  const std::span<const int32_t> text_;
  const machine::Machine& machine_;
  const int threads_;
  tune::Budget budget_;
  LanguageForms forms_;
  Candidate defaults_;
  OpenedForm baseline_;  // stays open: every candidate is interleaved with it
  Load load_;
  std::vector<KnownForm> known_;
  std::vector<Group> groups_;
  tune::language::LanguageTuning tuning_;
};

// The reference, then every form: the defaults' first.
Status LanguageTuner::judge_forms() {
  RIDGE_ASSIGN(const std::string first, decoder_engine(request_.engine));
  RIDGE_ASSIGN(const engine::WeightForm usual, engine::form_of(request_.folder, {}));
  defaults_ = {.form = {.engine = first, .weights = usual}, .threads = threads_};
  tuning_.reference = reference_form(request_, first);
  control_.report("open the reference, " + describe(tuning_.reference), 0);
  Status set = forms_.set_reference(tuning_.reference, text_, request_.text_tokens, threads_);
  if (!set && set.error().code == Code::kUnsupported && tuning_.reference.cache == engine::CacheForm::kBf16) {
    tuning_.reference.cache = engine::CacheForm::kFp32;  // a CPU without BF16
    set = forms_.set_reference(tuning_.reference, text_, request_.text_tokens, threads_);
  }
  RIDGE_TRY(std::move(set));
  tuning_.reference_perplexity = forms_.reference_perplexity();
  RIDGE_TRY(judge(defaults_.form));
  if (baseline_.decoder == nullptr) {
    RIDGE_ASSIGN(baseline_, forms_.open(defaults_.form, threads_));
    know(defaults_.form, threads_, baseline_);
  }
  RIDGE_TRY(check_load(request_, baseline_.decoder->info().context));
  tuning_.engine_version = baseline_.decoder->info().engine.version;
  RIDGE_TRY(size_load());
  for (const std::string& engine : engines_of(request_, first))
    for (const engine::CacheForm cache : request_.caches)
      for (const engine::WeightForm weights : request_.weights)
        if (const Form form{engine, weights, cache}; form != defaults_.form) RIDGE_TRY(judge(form));
  for (JudgedForm& judged : tuning_.forms)
    if (judged.accepted()) {
      RIDGE_ASSIGN(judged.predicted, predicted({.form = judged.form, .threads = threads_}));
    }
  return know_threads();
}

Status LanguageTuner::judge(const Form& form) {
  if (budget_.over(tune::Part::kVariants) && form != defaults_.form) {
    tuning_.forms.push_back({form, tune::kUnfinished, "the time for judging forms ended before it"});
    return {};
  }
  control_.report("judge " + describe(form), static_cast<double>(tuning_.forms.size()) / 12 / 2);
  Result<LanguageForms::Judged> judged = forms_.judge(form, threads_, request_.bounds);
  if (!judged) return judged.error();
  tuning_.forms.push_back(std::move(judged->judged));
  if (judged->opened.decoder == nullptr) return {};
  know(form, threads_, judged->opened);
  if (form == defaults_.form) baseline_ = std::move(judged->opened);
  return {};
}

void LanguageTuner::know(const Form& form, int threads, const OpenedForm& opened) {
  const auto judged = std::ranges::find(tuning_.forms, form, &JudgedForm::form);
  const double ratio = judged->deviation ? judged->deviation->perplexity_ratio : 0;
  known_.push_back({form, threads, opened.decoder->info(), opened.blocks, opened.line, ratio});
}

const KnownForm* LanguageTuner::known(const Form& form, int threads) const {
  const auto found =
      std::ranges::find_if(known_, [&](const KnownForm& k) { return k.form == form && k.threads == threads; });
  return found == known_.end() ? nullptr : &*found;
}

bool LanguageTuner::accepted(const Form& form) const {
  const auto judged = std::ranges::find(tuning_.forms, form, &JudgedForm::form);
  return judged != tuning_.forms.end() && judged->accepted();
}

// The two forms that are predicted best, with half of the threads.
Status LanguageTuner::know_threads() {
  if (threads_ < 2) return {};
  std::vector<const JudgedForm*> best;
  for (const JudgedForm& judged : tuning_.forms)
    if (judged.accepted()) best.push_back(&judged);
  std::ranges::stable_sort(best, std::greater(), [](const JudgedForm* f) { return score_of(*f->predicted); });
  for (size_t i = 0; i < best.size(); ++i) {
    if (i >= kFormsByThreads) {
      count_skip(tuning_.skipped, kFewerThreads);
      continue;
    }
    if (budget_.over(tune::Part::kVariants) || control_.stopped()) {
      count_skip(tuning_.skipped, tune::kBudgetEnded);
      continue;
    }
    Result<OpenedForm> opened = forms_.open(best[i]->form, threads_ / 2);
    if (opened)
      know(best[i]->form, threads_ / 2, *opened);
    else
      count_skip(tuning_.skipped, kNotOpened);
  }
  return {};
}

// Takes the number of requests that fits a part of the time, as predicted for the defaults.
Status LanguageTuner::size_load() {
  load_.text = text_;
  load_.concurrency = request_.load.trace.empty() ? request_.load.concurrency : 0;
  llm::Workload workload = request_.load;
  workload.requests = kFewestPerSequence * workload.concurrency;
  load_.requests = llm::requests_of(workload, llm::EngineKind::kVllm);
  tuning_.requests = static_cast<int64_t>(load_.requests.size());
  if (load_.concurrency == 0) return {};
  RIDGE_ASSIGN(const llm::cpu::Figures figures, predicted(defaults_));
  constexpr double kArms = 8;  // of all groups, that should be measured: two groups of four
  const double seconds =
      budget_.seconds() * (share_until(tune::Part::kSearch) - share_until(tune::Part::kVariants)) / (kRounds * kArms);
  workload.requests = std::clamp(static_cast<int64_t>(seconds * figures.requests_per_s), workload.requests,
                                 kMostPerSequence * workload.concurrency);
  load_.requests = llm::requests_of(workload, llm::EngineKind::kVllm);
  tuning_.requests = workload.requests;
  return {};
}

Result<llm::cpu::Figures> LanguageTuner::predicted(const Candidate& candidate) const {
  const KnownForm& form = *known(candidate.form, candidate.threads);
  RIDGE_ASSIGN(const llm::cpu::Served served,
               llm::cpu::predict(settings_of(candidate, form.info, form.blocks, form.line), load_));
  return llm::cpu::figures_of({&served, 1}, request_.goals);
}

Status LanguageTuner::select_candidates() {
  std::vector<Priced> priced;
  for (const KnownForm& form : known_) {
    if (!accepted(form.form)) continue;
    control_.report(fmt::format("predict {}, {} threads", describe(form.form), form.threads), 0.5);
    for (const Candidate& candidate : settings_for(form.form, form.threads, load_, request_.goals)) {
      RIDGE_ASSIGN(const llm::cpu::Figures figures, predicted(candidate));
      priced.push_back({candidate, figures});
    }
  }
  tune::language::Selection selection = tune::language::select(priced);
  groups_ = std::move(selection.groups);
  tuning_.skipped.insert(tuning_.skipped.end(), selection.skipped.begin(), selection.skipped.end());
  return {};
}

// Returns the decoder of the defaults, or `own`, opened beside it. Null: it did not open.
Result<const OpenedForm*> LanguageTuner::decoder_of(const Form& form, int threads, OpenedForm& own) {
  if (form == defaults_.form && threads == defaults_.threads) return &baseline_;
  Result<OpenedForm> opened = forms_.open(form, threads);
  if (!opened && opened.error().code == Code::kCancelled) return opened.error();
  if (!opened) {
    tuning_.notes.push_back(fmt::format("{}: {}", describe(form), opened.error().message));
    return nullptr;
  }
  own = std::move(*opened);
  return &own;
}

Status LanguageTuner::measure() {
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (control_.stopped() || (i > 0 && budget_.over(tune::Part::kSearch))) {
      for (size_t left = 0; left < group.candidates.size(); ++left) count_skip(tuning_.skipped, tune::kBudgetEnded);
      continue;
    }
    control_.report(fmt::format("measure {}, {} threads", describe(group.form), group.threads),
                    0.5 + 0.3 * static_cast<double>(i) / static_cast<double>(groups_.size()));
    RIDGE_TRY(measure_group(group, budget_.left(tune::Part::kSearch) / static_cast<double>(groups_.size() - i)));
  }
  std::ranges::stable_sort(tuning_.candidates, std::greater(),
                           [](const MeasuredCandidate& m) { return score_of(m.figures); });
  tuning_.interrupted = control_.stopped();
  return {};
}

Status LanguageTuner::measure_group(const Group& group, double seconds) {
  OpenedForm own;
  RIDGE_ASSIGN(const OpenedForm* opened, decoder_of(group.form, group.threads, own));
  std::vector<Candidate> candidates;
  for (const Priced& priced : group.candidates)
    if (opened == nullptr)
      count_skip(tuning_.skipped, kNotOpened);
    else if (priced.candidate != defaults_)
      candidates.push_back(priced.candidate);
  if (opened == nullptr) return {};
  RIDGE_ASSIGN(std::vector<MeasuredCandidate> measured, run(*opened, candidates, kLeastRounds, seconds));
  if (measured.empty()) return {};  // interrupted
  tuning_.baseline = std::move(measured.front());
  tuning_.candidates.insert(tuning_.candidates.end(), std::make_move_iterator(measured.begin() + 1),
                            std::make_move_iterator(measured.end()));
  return {};
}

// Interleaves the defaults and the candidates, whose decoder is `opened`. Empty: interrupted in the first round.
Result<std::vector<MeasuredCandidate>> LanguageTuner::run(const OpenedForm& opened,
                                                          std::span<const Candidate> candidates, int64_t least_rounds,
                                                          double seconds) {
  std::vector<ArmRecord> records = {{defaults_}};
  for (const Candidate& candidate : candidates) records.push_back({candidate});
  std::vector<measure::Arm> arms;
  for (ArmRecord& record : records)
    arms.push_back({describe_settings(record.candidate), [&]() -> Result<std::vector<measure::Slice>> {
                      const bool baseline = &record == &records.front();
                      RIDGE_ASSIGN(const measure::Slice slice, run_once(baseline ? baseline_ : opened, record));
                      return std::vector{slice};
                    }});
  measure::InterleaveOptions how{
      .stop = {.min_samples = kConfirmRounds, .sure_samples = least_rounds, .min_time = Nanoseconds(0)},
      .seed = request_.load.seed,
      .interrupted = control_.interrupted};
  how.stop.max_time = from_seconds(seconds);
  const measure::InterleavedResult result = measure::interleave(arms, how, *control_.clock);
  if (result.failed_arm) return wrap(result.failure, arms[*result.failed_arm].name);
  std::vector<MeasuredCandidate> measured;
  if (result.rounds.empty()) return measured;
  for (ArmRecord& record : records)
    record.rounds.resize(result.rounds.size());  // without what belongs to no whole round
  for (const ArmRecord& record : records) {
    RIDGE_ASSIGN(MeasuredCandidate one, measured_of(record, records.front()));
    measured.push_back(std::move(one));
  }
  return measured;
}

Result<llm::cpu::DecoderLimit> LanguageTuner::limit_of(const OpenedForm& opened, const Candidate& candidate) const {
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(machine_, candidate.threads));
  return llm::cpu::DecoderLimit(model_, candidate.form.weights, candidate.form.cache,
                                opened.decoder->info().weight_bytes, limits,
                                machine::quota_factor(machine_, candidate.threads));
}

Result<measure::Slice> LanguageTuner::run_once(const OpenedForm& opened, ArmRecord& record) {
  const bool first = record.rounds.empty();
  const generate::Settings settings = settings_of(record.candidate, opened.decoder->info(), opened.blocks, opened.line);
  std::function<void(const generate::Step&, Nanoseconds)> ran;
  RIDGE_ASSIGN(const llm::cpu::DecoderLimit limit, limit_of(opened, record.candidate));
  if (first)
    ran = [&](const generate::Step& step, Nanoseconds time) {
      record.step_s += to_seconds(time);
      record.bound_s += limit.seconds(step.sequences);
    };
  RIDGE_ASSIGN(llm::cpu::Served served,
               llm::cpu::serve(*opened.decoder, settings, load_, *control_.clock, control_.interrupted, ran));
  const double rate = llm::cpu::figures_of({&served, 1}, {}).output_tokens_per_s;
  record.rounds.push_back(std::move(served));
  return measure::Slice{.rate = rate};
}

Result<MeasuredCandidate> LanguageTuner::measured_of(const ArmRecord& record, const ArmRecord& baseline) const {
  MeasuredCandidate m;
  m.candidate = record.candidate;
  m.figures = figures_of(record.rounds, request_.goals);
  RIDGE_ASSIGN(m.predicted, predicted(record.candidate));
  m.rounds = static_cast<int64_t>(record.rounds.size());
  std::vector<double> scores, usual;
  for (size_t i = 0; i < record.rounds.size(); ++i) {
    scores.push_back(score_of(llm::cpu::figures_of({&record.rounds[i], 1}, request_.goals)));
    usual.push_back(score_of(llm::cpu::figures_of({&baseline.rounds[i], 1}, request_.goals)));
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
  m.perplexity_ratio = known(record.candidate.form, record.candidate.threads)->perplexity_ratio;
  return m;
}

// The best of the search and the defaults again, longer. What is not better with confidence leaves the defaults, where
// these are accepted.
Status LanguageTuner::confirm() {
  const MeasuredCandidate* best = tune::language::best_of(tuning_.candidates);
  tuning_.best = best == nullptr ? tuning_.baseline : *best;
  if (best != nullptr && !control_.stopped()) {
    control_.report("confirm " + describe(best->candidate.form), 0.85);
    OpenedForm own;
    RIDGE_ASSIGN(const OpenedForm* opened, decoder_of(best->candidate.form, best->candidate.threads, own));
    if (opened != nullptr) {
      RIDGE_ASSIGN(std::vector<MeasuredCandidate> measured,
                   run(*opened, {&best->candidate, 1}, kConfirmRounds, budget_.left(tune::Part::kConfirm)));
      tuning_.confirmed = !measured.empty();
      if (tuning_.confirmed) {
        tuning_.baseline = std::move(measured[0]);
        tuning_.best = std::move(measured[1]);
      }
    }
  }
  conclude();
  return {};
}

void LanguageTuner::conclude() {
  const bool keeps = accepted(defaults_.form);
  const bool measured = tuning_.best.rounds > 0 && (keeps || tuning_.best.candidate != defaults_);
  const double best = score_of(tuning_.best.figures), usual = score_of(tuning_.baseline.figures);
  if (!measured || (!(best > 0) && !(keeps && usual > 0)))
    tuning_.choice = tune::Choice::kNone;
  else if (tuning_.best.candidate != defaults_ && (!keeps || is_better(tuning_.best)))
    tuning_.choice = tune::Choice::kCandidate;
  else
    tuning_.choice = tune::Choice::kBaseline;
  if (tuning_.choice == tune::Choice::kBaseline) tuning_.best = tuning_.baseline;
  tuning_.interrupted = control_.stopped();
}

void describe_request(const LanguageTuneRequest& request, const cost::DeviceLimits& limits,
                      tune::language::LanguageTuning& tuning) {
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
            tune::language::LanguageTuning& tuning) {
  if (request.repository.empty() || tuning.choice == tune::Choice::kNone) return {};
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
  RIDGE_ASSIGN(const llm::Model model, read_decoder_model(request.folder));
  RIDGE_TRY(check_load(request, model.context));
  RIDGE_ASSIGN(const serve::LanguageFiles files, serve::read_language_files(request.folder, false));
  RIDGE_ASSIGN(const std::vector<int32_t> text, files.tokenizer.encode(request.text, false));
  if (text.empty()) return invalid(fmt::format("the text ({}) has no tokens", request.text_name));
  RIDGE_ASSIGN(const machine::Machine machine, know_machine(request.fresh, control));
  const int usable = machine::usable_threads(machine);
  const int threads = request.threads > 0 ? std::min(request.threads, usable) : usable;
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(machine, threads));
  machine::DisturbanceWatch watch;
  LanguageTuner tuner(request, control, model, text, machine, threads);
  RIDGE_TRY(tuner.judge_forms());
  RIDGE_TRY(tuner.select_candidates());
  RIDGE_TRY(tuner.measure());
  RIDGE_TRY(tuner.confirm());
  LanguageTuneResult result{tuner.take()};
  describe_request(request, limits, result.tuning);
  result.tuning.disturbance = watch.end();
  result.tuning.seconds = to_seconds(control.clock->now() - begin);
  result.saved = save(request, usable, machine, result.tuning);
  return result;
}

}  // namespace ridge::app
