#include "lab/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "measure/compare.h"

namespace ridge::lab {
namespace {

constexpr Nanoseconds kSlice = std::chrono::milliseconds(30);  // of one variant in one round

bool wants(const Wanted& wanted, std::string_view name) {
  return wanted.names.empty() || std::find(wanted.names.begin(), wanted.names.end(), name) != wanted.names.end();
}

bool wants(const Wanted& wanted, const Experiment& experiment) {
  return wants(wanted, experiment.name) || std::any_of(experiment.claims.begin(), experiment.claims.end(),
                                                       [&](std::string_view claim) { return wants(wanted, claim); });
}

// Runs of the variant per second, with as many in a row as fill the slice; what one takes is learnt from the last time.
measure::Contender contender(Place& place, const Variant& variant) {
  auto seconds_per_run = std::make_shared<double>(0);
  return {variant.name, [&place, &variant, seconds_per_run](Nanoseconds slice) -> Result<double> {
            int repeats = 1;
            if (*seconds_per_run > 0)
              repeats = static_cast<int>(std::clamp(to_seconds(slice) / *seconds_per_run, 1.0, 1e6));
            RIDGE_ASSIGN(double seconds, place.seconds(variant, repeats));
            *seconds_per_run = seconds / repeats;
            return repeats / seconds;
          }};
}

Result<LedgerRow> measure_comparison(Place& place, const Experiment& experiment, const Case& work,
                                     const Comparison& comparison, const Claim& claim, const LedgerOptions& options) {
  const Variant &baseline = work.variants.at(comparison.baseline), &variant = work.variants.at(comparison.variant);
  std::vector<measure::Contender> contenders = {contender(place, baseline), contender(place, variant)};
  for (const measure::Contender& one : contenders) RIDGE_TRY(one.rate(kSlice));  // warm, and how long a run takes
  measure::CompareOptions how;
  how.slice = kSlice;
  how.max_time = options.most_time;
  how.half_width_percent = options.half_width_percent;
  how.interrupted = options.interrupted;
  RIDGE_ASSIGN(measure::Comparison measured, measure::compare(contenders, how));
  const measure::Standing& standing = measured.standings[1];
  LedgerRow row;
  row.claim = claim;
  row.figure = comparison.figure ? *comparison.figure : *claim.figure;
  row.experiment = experiment.name;
  row.title = work.title;
  row.variant = variant.name;
  row.baseline = baseline.name;
  row.ratio = {standing.ratio, standing.ratio_low, standing.ratio_high};
  row.verdict = judge(row.figure, row.ratio);
  row.explanation = comparison.because;
  row.baseline_seconds = 1 / measured.standings[0].rate;
  row.variant_seconds = 1 / standing.rate;
  row.bytes = work.bytes;
  row.flops = work.flops;
  row.rounds = measured.rounds;
  row.converged = measured.converged;
  return row;
}

// What the device cannot test, and why.
LedgerRow untested(const Claim& claim, const Device& device, bool has_experiment) {
  LedgerRow row;
  row.claim = claim;
  if (!claim.elsewhere.empty())
    row.explanation = claim.elsewhere;
  else if (std::find(claim.on.begin(), claim.on.end(), device.kind()) == claim.on.end())
    row.explanation = fmt::format("needs {}; this device is {}", fmt::join(claim.on, " or "), device.kind());
  else
    row.explanation = has_experiment ? "its experiment has no form for this device" : "there is no experiment for it";
  return row;
}

struct Planned {
  const Experiment* experiment;
  Case work;
};

std::vector<Planned> plan_cases(const Wanted& wanted, const Target& target) {
  std::vector<Planned> planned;
  for (const Experiment& experiment : experiments())
    if (wants(wanted, experiment))
      for (Case& work : experiment.cases(target)) planned.push_back({&experiment, std::move(work)});
  return planned;
}

bool asks_for(const Wanted& wanted, const Planned& planned, const Comparison& comparison) {
  return wants(wanted, planned.experiment->name) || wants(wanted, comparison.claim);
}

class Keeper {
 public:
  Keeper(Device& device, const Wanted& wanted, std::span<const Claim> claims, const LedgerOptions& options)
      : device_(device), wanted_(wanted), claims_(claims), options_(options) {}

  Result<Ledger> keep() {
    std::vector<Planned> planned = plan_cases(wanted_, device_.target());
    for (size_t i = 0; i < planned.size() && !stop(); ++i) {
      share_ = static_cast<double>(i) / static_cast<double>(planned.size());
      RIDGE_TRY(test(planned[i]));
      planned[i].work = {};  // gives the memory back
    }
    ledger_.interrupted = stop();
    if (!ledger_.interrupted) add_untested();
    std::stable_sort(ledger_.rows.begin(), ledger_.rows.end(),
                     [](const LedgerRow& a, const LedgerRow& b) { return a.claim.id < b.claim.id; });
    return std::move(ledger_);
  }

 private:
  bool stop() const { return options_.interrupted && options_.interrupted(); }

  Status test(const Planned& planned) {
    const Case& work = planned.work;
    report(fmt::format("{}: check {}", planned.experiment->name, work.title));
    RIDGE_ASSIGN(std::unique_ptr<Place> place, device_.prepare(work));
    RIDGE_TRY(check(*place, work));
    for (const Comparison& comparison : work.comparisons) {
      if (!asks_for(wanted_, planned, comparison) || stop()) continue;
      report(fmt::format("{}: {} against {}", planned.experiment->name, work.variants[comparison.variant].name,
                         work.variants[comparison.baseline].name));
      RIDGE_ASSIGN(Claim claim, find_claim(claims_, comparison.claim));
      RIDGE_ASSIGN(LedgerRow row, measure_comparison(*place, *planned.experiment, work, comparison, claim, options_));
      ledger_.rows.push_back(std::move(row));
    }
    return {};
  }

  void add_untested() {
    for (const Claim& claim : claims_) {
      if (!wants(wanted_, claim.id)) continue;
      auto is_it = [&](const LedgerRow& row) { return row.claim.id == claim.id; };
      if (std::any_of(ledger_.rows.begin(), ledger_.rows.end(), is_it)) continue;
      auto has = [&](const Experiment& e) {
        return std::find(e.claims.begin(), e.claims.end(), claim.id) != e.claims.end();
      };
      bool has_experiment = std::any_of(experiments().begin(), experiments().end(), has);
      ledger_.rows.push_back(untested(claim, device_, has_experiment));
    }
  }

  void report(const std::string& step) const {
    if (options_.progress) options_.progress(step, share_);
  }

  Device& device_;
  const Wanted& wanted_;
  std::span<const Claim> claims_;
  const LedgerOptions& options_;
  Ledger ledger_;
  double share_ = 0;
};

}  // namespace

Status check_wanted(const Wanted& wanted, std::span<const Claim> claims) {
  for (const std::string& name : wanted.names) {
    std::vector<std::string_view> known;
    for (const Experiment& experiment : experiments()) known.push_back(experiment.name);
    bool is_claim = std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) { return claim.id == name; });
    if (!is_claim && std::find(known.begin(), known.end(), name) == known.end())
      return Error{Code::kInvalid, fmt::format("'{}' is neither a claim ({} to {}) nor an experiment ({})", name,
                                               claims.front().id, claims.back().id, fmt::join(known, ", "))};
  }
  return {};
}

Result<Ledger> keep_ledger(Device& device, const Wanted& wanted, std::span<const Claim> claims,
                           const LedgerOptions& options) {
  return Keeper(device, wanted, claims, options).keep();
}

Json to_json(const LedgerRow& row) {
  Json json{{"claim", row.claim.id},
            {"statement", row.claim.statement},
            {"source", row.claim.source},
            {"verdict", verdict_name(row.verdict)},
            {"explanation", row.explanation}};
  if (row.experiment.empty()) return json;
  auto rate = [](double work, double seconds) { return work > 0 ? Json(work / seconds) : Json(nullptr); };
  json["experiment"] = row.experiment;
  json["work"] = row.title;
  json["variant"] = row.variant;
  json["baseline"] = row.baseline;
  json["claimed"] = {{"low", row.figure.low}, {"high", row.figure.high ? Json(*row.figure.high) : Json(nullptr)}};
  json["ratio"] = {{"value", row.ratio.value}, {"low", row.ratio.low}, {"high", row.ratio.high}, {"confidence", 0.95}};
  json["variant_seconds"] = row.variant_seconds;
  json["baseline_seconds"] = row.baseline_seconds;
  json["variant_bytes_per_s"] = rate(row.bytes, row.variant_seconds);
  json["baseline_bytes_per_s"] = rate(row.bytes, row.baseline_seconds);
  json["variant_flops_per_s"] = rate(row.flops, row.variant_seconds);
  json["baseline_flops_per_s"] = rate(row.flops, row.baseline_seconds);
  json["origin"] = "measured";
  json["rounds"] = row.rounds;
  json["converged"] = row.converged;
  return json;
}

}  // namespace ridge::lab
