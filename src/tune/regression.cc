#include "tune/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace ridge::tune {
namespace {

// A process's memory differs by this much between runs (an allocator's arenas): recorded for BERT-Base, whose process
// peaks at one of two values. Outputs in FP32 differ in the last bits with another kernel.
constexpr double kMemorySlackBytes = 16 << 20;
constexpr double kDeviationSlack = 1e-5;

constexpr std::array<std::pair<Change, std::string_view>, 4> kChanges = {{{Change::kAsBefore, "as before"},
                                                                          {Change::kBetter, "better"},
                                                                          {Change::kRegressed, "regressed"},
                                                                          {Change::kNotComparable, "not comparable"}}};

// ln of each that is known.
std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values)
    if (value > 0) result.push_back(std::log(value));
  return result;
}
std::vector<double> log_ratios(const std::vector<double>& own, const std::vector<double>& untuned) {
  std::vector<double> result;
  for (size_t i = 0; i < std::min(own.size(), untuned.size()); ++i)
    if (own[i] > 0 && untuned[i] > 0) result.push_back(std::log(own[i] / untuned[i]));
  return result;
}

// A figure of speed, in every round: the candidate's and the untuned model's.
struct SpeedFigure {
  const char *id, *what, *unit;
  double (*figure)(const Tuning&);
  std::vector<double> RoundFigures::*own;
  std::vector<double> RoundFigures::*untuned;  // null: it is the untuned model's own
  Better better;
};

FigureChange of_speed(const SpeedFigure& figure, const Tuning& before, const Tuning& now,
                      const Strictness& strictness) {
  FigureChange row = figure_of(figure.id, figure.what, figure.unit, figure.figure(before), figure.figure(now));
  const bool same_machine = before.machine.id == now.machine.id;
  if (!same_machine) return set_aside(std::move(row), "recorded on another machine");
  if (row.before <= 0 || row.now <= 0) return set_aside(std::move(row), "not recorded");
  const auto then = before.rounds.*figure.own, today = now.rounds.*figure.own;
  if (strictness.absolute) {
    judge(measure::mean_difference(logarithms(then), logarithms(today), kConfidence), figure.better,
          strictness.tolerance_percent, row);
  } else if (figure.untuned == nullptr) {
    return set_aside(std::move(row), "shows the machine and the engine (--absolute judges it)");
  } else {
    const measure::MeanDifference difference = measure::mean_difference(
        log_ratios(then, before.rounds.*figure.untuned), log_ratios(today, now.rounds.*figure.untuned), kConfidence);
    row.beside_untuned_percent = 100 * std::expm1(difference.value);
    judge(difference, figure.better, strictness.tolerance_percent, row);
  }
  return row;
}

FigureChange of_deviation(double before, double now) {
  FigureChange row = figure_of("relative-l2", "relative L2 of the outputs", "", before, now);
  if (now > 1.5 * before + kDeviationSlack) row.verdict = Change::kRegressed;
  return row;
}

FigureChange of_memory(const Tuning& before, const Tuning& now, double tolerance) {
  FigureChange row =
      figure_of("memory", "growth of resident memory", "B", static_cast<double>(before.best.rss_delta_bytes),
                static_cast<double>(now.best.rss_delta_bytes));
  if (before.machine.id != now.machine.id) return set_aside(std::move(row), "recorded on another machine");
  if (row.before <= 0 || row.now <= 0) return set_aside(std::move(row), "not recorded");
  judge({std::log(row.now / row.before), 0}, Better::kLow, tolerance, row);
  if (row.verdict == Change::kRegressed && row.now < row.before + kMemorySlackBytes) row.verdict = Change::kAsBefore;
  return row;
}

}  // namespace

std::string value_text(const FigureChange& row, double value) {
  if (value == 0 && !row.unit.empty()) return "-";
  if (row.unit == "B") return format_bytes(value);
  if (row.unit == "ms") return format_ms(value);
  if (row.unit == "rows/s") return format_row_rate(value);
  return fmt::format("{:.3g}{}", value, row.unit);
}

std::optional<std::pair<double, double>> change_ends(const FigureChange& row) {
  if (row.spread_percent <= 0) return {};
  const double ratio = 1 + row.beside_untuned_percent.value_or(row.change_percent) / 100;
  const double half = row.spread_percent / 100;
  return std::pair(100 * (ratio * std::exp(-half) - 1), 100 * (ratio * std::exp(half) - 1));
}

std::string spread_text(const FigureChange& row) {
  constexpr double kSmall = 10;  // [%]: up to here logarithms and percentages agree to a twentieth
  const auto ends = change_ends(row);
  if (!ends) return "";
  const double change = row.beside_untuned_percent.value_or(row.change_percent);
  if (row.spread_percent <= kSmall && std::abs(change) <= kSmall) return fmt::format("± {:.1f} %", row.spread_percent);
  return fmt::format("{:+.1f} % to {:+.1f} %", ends->first, ends->second);
}

FigureChange figure_of(std::string id, std::string what, std::string unit, double before, double now) {
  FigureChange row;
  row.id = std::move(id);
  row.what = std::move(what);
  row.unit = std::move(unit);
  row.before = before;
  row.now = now;
  if (before > 0) row.change_percent = 100 * (now / before - 1);
  return row;
}

void judge(const measure::MeanDifference& difference, Better better, double tolerance_percent, FigureChange& row) {
  const double tolerance = std::log1p(tolerance_percent / 100);
  const double worse = better == Better::kLow ? difference.value : -difference.value;
  if (!std::isfinite(difference.half_width)) {
    row = set_aside(std::move(row), "too few samples for an interval");
    return;
  }
  row.spread_percent = 100 * difference.half_width;
  if (worse - difference.half_width > tolerance) row.verdict = Change::kRegressed;
  if (-worse - difference.half_width > tolerance) row.verdict = Change::kBetter;
}

FigureChange set_aside(FigureChange row, const std::string& reason) {
  row.verdict = Change::kNotComparable;
  row.reason = reason;
  return row;
}

NameTable<Change> names_of(Change) { return kChanges; }

std::string unjudged_reason(const std::vector<FigureChange>& all) {
  constexpr double kHalf = 69.3;  // [%] ln 2
  if (regressed(all)) return "";
  if (std::ranges::any_of(all, [](const FigureChange& row) { return row.reason == kBusy; }))
    return "a figure is worse, but other work kept the machine busy, then or now: measure again when it is quiet";
  const auto sees = [](const FigureChange& row) {
    return row.verdict != Change::kNotComparable && row.id != "memory" && row.id != "relative-l2" &&
           row.spread_percent < kHalf;
  };
  return std::ranges::any_of(all, sees)
             ? ""
             : "a loss of half of the speed would not show: measure for longer, or when the machine is quiet";
}

std::vector<FigureChange> compare(const Tuning& before, const Tuning& now, const Strictness& strictness) {
  FigureChange gain = figure_of("gain", "gain over the untuned model", "×", before.gain.ratio, now.gain.ratio);
  judge(measure::mean_difference(before.gains, now.gains, kConfidence), Better::kHigh, strictness.tolerance_percent,
        gain);
  std::vector<FigureChange> rows = {std::move(gain)};
  const SpeedFigure speeds[] = {
      {"throughput", "throughput", "rows/s", [](const Tuning& t) { return t.best.throughput_per_s; },
       &RoundFigures::rows_per_s, &RoundFigures::untuned_rows_per_s, Better::kHigh},
      {"untuned-throughput", "throughput of the untuned model", "rows/s",
       [](const Tuning& t) { return t.baseline.throughput_per_s; }, &RoundFigures::untuned_rows_per_s, nullptr,
       Better::kHigh},
      {"p99", "p99 of one run", "ms", [](const Tuning& t) { return t.best.latency_ms.p99; }, &RoundFigures::p99_ms,
       &RoundFigures::untuned_p99_ms, Better::kLow}};
  for (const SpeedFigure& figure : speeds) rows.push_back(of_speed(figure, before, now, strictness));
  if (machine::disturbed(before.disturbance) || machine::disturbed(now.disturbance))
    for (FigureChange& row : rows)
      if (row.verdict == Change::kRegressed) row = set_aside(std::move(row), kBusy);
  rows.push_back(of_memory(before, now, strictness.tolerance_percent));
  rows.push_back(of_deviation(before.deviation.relative_l2, now.deviation.relative_l2));
  return rows;
}

bool regressed(const std::vector<FigureChange>& all) {
  return std::any_of(all.begin(), all.end(), [](const FigureChange& row) { return row.verdict == Change::kRegressed; });
}

std::optional<double> least_visible_percent(const std::vector<FigureChange>& all, const Strictness& strictness) {
  std::optional<double> least;
  for (const FigureChange& row : all) {
    if (row.verdict == Change::kNotComparable || row.spread_percent <= 0) continue;
    const double worse = std::log1p(strictness.tolerance_percent / 100) + row.spread_percent / 100;
    const double percent = 100 * (row.unit == "ms" ? std::expm1(worse) : -std::expm1(-worse));
    least = std::max(least.value_or(0), percent);
  }
  return least;
}

std::string conclusion(const std::vector<FigureChange>& all, const Strictness& strictness) {
  const auto worst =
      std::find_if(all.begin(), all.end(), [](const FigureChange& r) { return r.verdict == Change::kRegressed; });
  if (const std::string why = unjudged_reason(all); !why.empty()) return "Not judged: " + why + ".";
  if (worst == all.end()) {
    const std::optional<double> least = least_visible_percent(all, strictness);
    return fmt::format("No regression: nothing is significantly worse by more than {:.3g} %.{}",
                       strictness.tolerance_percent,
                       least ? " This comparison cannot see a loss of less than " + format_percent(*least) + "." : "");
  }
  const auto others =
      std::count_if(worst + 1, all.end(), [](const FigureChange& r) { return r.verdict == Change::kRegressed; });
  std::string more = others > 0 ? fmt::format(", and {} more", others) : "";
  return fmt::format("Regressed: {} {} against {} before ({:+.3g} %){}.", worst->what, value_text(*worst, worst->now),
                     value_text(*worst, worst->before), worst->change_percent, more);
}

}  // namespace ridge::tune
