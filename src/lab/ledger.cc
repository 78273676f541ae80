#include "lab/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "measure/interleave.h"
#include "measure/statistics.h"

namespace ridge::lab {
namespace {

constexpr Nanoseconds kSlice = std::chrono::milliseconds(30);  // of one variant in one round
constexpr Nanoseconds kMostTime = std::chrono::seconds(2);     // of one comparison
constexpr int kSureRounds = 3;                                 // of fewer, an interval says nothing

bool wants(const Selection& selection, std::string_view name) {
  return selection.names.empty() ||
         std::find(selection.names.begin(), selection.names.end(), name) != selection.names.end();
}

bool wants(const Selection& selection, const Experiment& experiment) {
  return wants(selection, experiment.name) ||
         std::any_of(experiment.claims.begin(), experiment.claims.end(),
                     [&](std::string_view claim) { return wants(selection, claim); });
}

// Bytes or FLOPs of one run.
double work_of(const Case& work, const Variant& variant) {
  return variant.work.value_or(work.bytes > 0 ? work.bytes : work.flops);
}

// The variant's rate, from the consecutive runs that fill the slice; the run time is known from the last one.
measure::Arm arm_of(PreparedCase& prepared, const Case& work, const Variant& variant) {
  auto seconds_per_run = std::make_shared<double>(0);
  return {variant.name, [&prepared, &work, &variant, seconds_per_run]() -> Result<std::vector<measure::Slice>> {
            int repeats = 1;
            if (*seconds_per_run > 0)
              repeats = static_cast<int>(std::clamp(to_seconds(kSlice) / *seconds_per_run, 1.0, 1e6));
            RIDGE_ASSIGN(double seconds, prepared.seconds(variant, repeats));
            *seconds_per_run = seconds / repeats;
            return std::vector{measure::Slice{.rate = work_of(work, variant) * repeats / seconds}};
          }};
}

Speed speed_of(const Case& work, const Variant& variant, double seconds,
               const std::optional<gpu::Residency>& resident = {}) {
  Speed speed{seconds, {}, {}};
  (work.bytes > 0 ? speed.bytes_per_s : speed.flops_per_s) = work_of(work, variant) / seconds;
  if (!resident) return speed;
  speed.registers = resident->registers;
  speed.occupancy_percent = resident->occupancy_percent;
  return speed;
}

Result<LedgerRow> measure_comparison(PreparedCase& prepared, const Experiment& experiment, const Case& work,
                                     const Comparison& comparison, const measure::Claim& claim,
                                     const LedgerOptions& options, Nanoseconds most_time, const Clock& clock) {
  const Variant &baseline = work.variants.at(comparison.baseline), &variant = work.variants.at(comparison.variant);
  const std::vector<measure::Arm> arms = {arm_of(prepared, work, baseline), arm_of(prepared, work, variant)};
  for (const measure::Arm& arm : arms) RIDGE_TRY(arm.run());  // warms up, and times a run
  measure::InterleaveOptions how;
  how.stop.max_time = most_time;
  how.stop.sure_samples = kSureRounds;
  how.stop.half_width_percent = options.half_width_percent;
  how.interrupted = options.interrupted;
  RIDGE_ASSIGN(measure::Comparison measured, measure::compare(arms, how, clock));
  const measure::ArmResult& arm_result = measured.arm_results[1];
  LedgerRow row;
  row.claim = claim;
  row.figure = comparison.figure ? *comparison.figure : *claim.figure;
  row.experiment = experiment.name;
  row.title = work.title;
  row.variant = variant.name;
  row.baseline = baseline.name;
  row.ratio = arm_result.ratio;
  row.verdict = judge(row.figure, row.ratio);
  row.explanation = comparison.because;
  row.variant_speed = speed_of(work, variant, work_of(work, variant) / arm_result.rate, prepared.residency(variant));
  row.baseline_speed =
      speed_of(work, baseline, work_of(work, baseline) / measured.arm_results[0].rate, prepared.residency(baseline));
  row.rounds = measured.rounds;
  row.converged = measured.converged;
  return row;
}

bool is_compared(const Case& work, size_t variant) {
  return std::ranges::any_of(work.comparisons, [&](const Comparison& comparison) {
    return comparison.variant == variant || comparison.baseline == variant;
  });
}

// Time of one run, from one slice.
Result<double> time_once(PreparedCase& prepared, const Case& work, const Variant& variant) {
  const measure::Arm arm = arm_of(prepared, work, variant);
  RIDGE_TRY(arm.run());  // warms up, and times a run
  RIDGE_ASSIGN(const std::vector<measure::Slice> slices, arm.run());
  return work_of(work, variant) / slices.front().rate;
}

using AloneTimes = std::map<const Variant*, double>;  // [s]

// Every variant of the case that occurs in `rows` or was timed alone.
MeasuredCase measured_case(const Experiment& experiment, const Case& work, std::span<const LedgerRow> rows,
                           const AloneTimes& alone) {
  MeasuredCase measured{std::string(experiment.name), work.title, work.parameter, {}};
  for (const Variant& variant : work.variants) {
    std::vector<double> seconds;
    for (const LedgerRow& row : rows) {
      if (row.variant == variant.name) seconds.push_back(row.variant_speed.seconds);
      if (row.baseline == variant.name) seconds.push_back(row.baseline_speed.seconds);
    }
    if (const auto timed = alone.find(&variant); timed != alone.end()) seconds.push_back(timed->second);
    if (!seconds.empty())
      measured.ways.push_back({variant.name, variant.at, speed_of(work, variant, measure::median(seconds))});
  }
  return measured;
}

// Claims that the device cannot test, and why.
LedgerRow untested(const measure::Claim& claim, const Device& device, bool has_experiment) {
  LedgerRow row;
  row.claim = claim;
  if (!claim.elsewhere.empty())
    row.explanation = claim.elsewhere;
  else if (std::find(claim.on.begin(), claim.on.end(), device.kind) == claim.on.end())
    row.explanation = fmt::format("needs {}; this device is {}", fmt::join(claim.on, " or "), device.kind);
  else
    row.explanation = has_experiment ? "not implemented on " + device.kind : "there is no experiment for it";
  return row;
}

bool asks_for(const Selection& selection, const Experiment& experiment, const Comparison& comparison) {
  return wants(selection, experiment.name) || wants(selection, comparison.claim);
}

std::string compared(const Case& work, const Comparison& comparison) {
  return fmt::format("{} against {}", work.variants[comparison.variant].name, work.variants[comparison.baseline].name);
}

class LedgerBuilder {
 public:
  LedgerBuilder(const Device& device, const Selection& selection, std::span<const measure::Claim> claims,
                const LedgerOptions& options, const Clock& clock)
      : device_(device), selection_(selection), claims_(claims), options_(options), clock_(clock) {}

  Result<Ledger> build() {
    std::vector<const Experiment*> selection;
    for (const Experiment& experiment : all_experiments())
      if (wants(selection_, experiment)) selection.push_back(&experiment);
    for (size_t i = 0; i < selection.size() && !stop(); ++i) {
      share_ = static_cast<double>(i) / static_cast<double>(selection.size());
      end_ = measured() + (options_.time - measured()) / static_cast<int64_t>(selection.size() - i);
      RIDGE_TRY(test(*selection[i], 1.0 / static_cast<double>(selection.size())));
    }
    ledger_.interrupted = stop();
    if (!ledger_.interrupted) add_untested();
    std::stable_sort(ledger_.rows.begin(), ledger_.rows.end(),
                     [](const LedgerRow& a, const LedgerRow& b) { return a.claim.id < b.claim.id; });
    return std::move(ledger_);
  }

 private:
  bool stop() const { return options_.interrupted && options_.interrupted(); }
  Nanoseconds measured() const { return clock_.now() - begin_; }
  bool late() const { return measured() >= options_.time; }

  // The experiment's remaining time, divided among its comparisons that are left.
  Nanoseconds time_for_one(int64_t comparisons) const {
    return std::clamp((end_ - measured()) / comparisons, Nanoseconds(0), kMostTime);
  }

  // `what` of the claim's tests the time did not reach.
  void miss(std::string_view claim, const std::string& what) {
    for (const measure::Claim& one : claims_) {
      if (one.id != claim || std::ranges::find(one.on, device_.kind) == one.on.end()) continue;  // else not testable
      LedgerRow& row = ledger_.rows.emplace_back();
      row.claim = one;
      row.verdict = measure::Judgement::kNotMeasured;
      row.explanation = what + ": --seconds ended before it";
    }
  }

  Status test(const Experiment& experiment, double share) {
    if (late()) {
      for (const std::string_view id : experiment.claims)
        if (wants(selection_, experiment.name) || wants(selection_, id)) miss(id, std::string(experiment.name));
      return {};
    }
    std::vector<Case> cases = experiment.cases(device_.target);
    int64_t comparisons = 0;
    for (const Case& work : cases) comparisons += std::ssize(wanted(experiment, work));
    for (Case& work : cases) {
      if (stop()) break;
      RIDGE_TRY(test(experiment, work, comparisons));
      share_ += share / static_cast<double>(cases.size());
    }
    return {};
  }

  std::vector<Comparison> wanted(const Experiment& experiment, const Case& work) const {
    std::vector<Comparison> all = work.comparisons;
    std::erase_if(all, [&](const Comparison& each) { return !asks_for(selection_, experiment, each); });
    return all;
  }

  // `left`: comparisons of the experiment.
  Status test(const Experiment& experiment, Case& work, int64_t& left) {
    std::unique_ptr<PreparedCase> prepared;
    if (!late()) {
      report(fmt::format("{}: check {}", experiment.name, work.title));
      const TimePoint begin = clock_.now();
      work.fill(work);
      RIDGE_ASSIGN(prepared, device_.prepare(work));
      RIDGE_TRY(check(*prepared, work));
      work.buffers = {}, work.expected = {}, work.sums = {};  // the device has its own
      begin_ += clock_.now() - begin;
    }
    const size_t first = ledger_.rows.size();
    std::vector<Comparison> missed;
    for (const Comparison& comparison : wanted(experiment, work)) {
      if (stop()) break;
      if (late()) {
        missed.push_back(comparison);
        continue;
      }
      report(fmt::format("{}: {}", experiment.name, compared(work, comparison)));
      RIDGE_ASSIGN(measure::Claim claim, find_claim(claims_, comparison.claim));
      RIDGE_ASSIGN(LedgerRow row, measure_comparison(*prepared, experiment, work, comparison, claim, options_,
                                                     time_for_one(left--), clock_));
      ledger_.rows.push_back(std::move(row));
    }
    if (ledger_.rows.size() > first) {
      RIDGE_ASSIGN(const AloneTimes alone, time_uncompared(*prepared, experiment, work));
      ledger_.cases.push_back(
          measured_case(experiment, work, std::span<const LedgerRow>(ledger_.rows).subspan(first), alone));
    }
    for (const Comparison& comparison : missed)
      miss(comparison.claim, fmt::format("{}: {}", experiment.name, compared(work, comparison)));
    return {};
  }

  // The variants that no comparison has, as far as the time allows.
  Result<AloneTimes> time_uncompared(PreparedCase& prepared, const Experiment& experiment, const Case& work) const {
    AloneTimes alone;
    for (size_t i = 0; i < work.variants.size(); ++i) {
      if (is_compared(work, i)) continue;
      if (stop() || late()) break;
      report(fmt::format("{}: {}", experiment.name, work.variants[i].name));
      RIDGE_ASSIGN(alone[&work.variants[i]], time_once(prepared, work, work.variants[i]));
    }
    return alone;
  }

  void add_untested() {
    for (const measure::Claim& claim : selected(selection_, claims_)) {
      const auto is_it = [&](const LedgerRow& row) { return row.claim.id == claim.id; };
      const auto has = [&](const Experiment& each) { return std::ranges::count(each.claims, claim.id) > 0; };
      if (std::ranges::none_of(ledger_.rows, is_it))
        ledger_.rows.push_back(untested(claim, device_, std::ranges::any_of(all_experiments(), has)));
    }
  }

  void report(const std::string& step) const {
    if (options_.progress) options_.progress(step, share_);
  }

  const Device& device_;
  const Selection& selection_;
  std::span<const measure::Claim> claims_;
  const LedgerOptions& options_;
  const Clock& clock_;
  Ledger ledger_;
  double share_ = 0;
  TimePoint begin_ = clock_.now();  // and all that did not count
  Nanoseconds end_{0};              // of the experiment, in time measured
};

}  // namespace

Status check_selection(const Selection& selection, std::span<const measure::Claim> claims) {
  for (const std::string& name : selection.names) {
    std::vector<std::string_view> known;
    for (const Experiment& experiment : all_experiments()) known.push_back(experiment.name);
    bool is_claim =
        std::any_of(claims.begin(), claims.end(), [&](const measure::Claim& claim) { return claim.id == name; });
    if (!is_claim && std::find(known.begin(), known.end(), name) == known.end())
      return Error{Code::kInvalid, fmt::format("'{}' is neither a claim ({} to {}) nor an experiment ({})", name,
                                               claims.front().id, claims.back().id, fmt::join(known, ", "))};
  }
  return {};
}

std::vector<measure::Claim> selected(const Selection& selection, std::span<const measure::Claim> claims) {
  std::vector<measure::Claim> result;
  for (const measure::Claim& claim : claims) {
    const bool by_experiment = std::ranges::any_of(all_experiments(), [&](const Experiment& experiment) {
      return wants(selection, experiment.name) && std::ranges::count(experiment.claims, claim.id) > 0;
    });
    if (by_experiment || wants(selection, claim.id)) result.push_back(claim);
  }
  return result;
}

Result<Ledger> build_ledger(const Device& device, const Selection& selection, std::span<const measure::Claim> claims,
                            const LedgerOptions& options, const Clock& clock) {
  machine::DisturbanceWatch watch;
  RIDGE_ASSIGN(Ledger ledger, LedgerBuilder(device, selection, claims, options, clock).build());
  ledger.disturbance = watch.end();
  ledger.device = device.text;
  ledger.note = device.note;
  ledger.conditions = device.conditions;
  return ledger;
}

std::vector<std::pair<std::string, int>> verdicts_of(const Ledger& ledger) {
  std::vector<std::pair<std::string, int>> verdicts;
  for (const measure::Judgement verdict : measure::kJudgements)
    verdicts.emplace_back(verdict_name(verdict), std::ranges::count(ledger.rows, verdict, &LedgerRow::verdict));
  return verdicts;
}

}  // namespace ridge::lab
