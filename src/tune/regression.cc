#include "tune/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::tune {
namespace {

// A process's memory differs by this much between runs (an allocator's arenas): recorded for BERT-Base, whose process peaks at
// one of two values. Outputs in FP32 differ in the last bits with another kernel.
constexpr double kMemorySlackBytes = 16 << 20;
constexpr double kDeviationSlack = 1e-5;

// 95 % half-width, in ln units, of a 99th percentile taken from a few hundred runs.
constexpr double kTailSpread = 0.1;

enum class Good { kHigh, kLow };

constexpr std::array<std::pair<Change, std::string_view>, 4> kChanges = {{{Change::kAsBefore, "as before"},
                                                                          {Change::kBetter, "better"},
                                                                          {Change::kRegressed, "regressed"},
                                                                          {Change::kNotComparable, "not comparable"}}};

constexpr size_t kUntunedRow = 2;  // of compare()'s rows: the throughput of the untuned model

// Half-width of ln(gain), from the interval of the ratio.
double half_width(const Gain& gain) {
  const bool known = gain.low > 0 && std::isfinite(gain.high);
  return known ? (std::log(gain.high) - std::log(gain.low)) / 2 : 0;
}

// The change in logarithms with the spread of both sides; independent errors add in squares.
FigureChange judge_figure(std::string id, std::string what, std::string unit, double before, double now, double half,
                          Good good, double tolerance) {
  FigureChange row{std::move(id), std::move(what), std::move(unit), before, now, 0, 100 * half, Change::kAsBefore, ""};
  if (before <= 0 || now <= 0) {
    row.verdict = Change::kNotComparable;
    row.reason = "not recorded";
    return row;
  }
  row.change_percent = 100 * (now / before - 1);
  const double worse = (good == Good::kHigh ? 1 : -1) * std::log(before / now);
  if (worse - half > std::log1p(tolerance / 100)) row.verdict = Change::kRegressed;
  if (-worse - half > std::log1p(tolerance / 100)) row.verdict = Change::kBetter;
  return row;
}

double both(double a, double b) { return std::sqrt(a * a + b * b); }

void set_aside(FigureChange& row, const char* reason) {
  row.verdict = Change::kNotComparable;
  row.reason = reason;
}

FigureChange of_deviation(double before, double now) {
  FigureChange row{"relative-l2", "relative L2 of the outputs", "", before, now, 0, 0, Change::kAsBefore, ""};
  if (before > 0) row.change_percent = 100 * (now / before - 1);
  if (now > 1.5 * before + kDeviationSlack) row.verdict = Change::kRegressed;
  return row;
}

FigureChange of_memory(double before, double now, double tolerance) {
  FigureChange row = judge_figure("memory", "growth of resident memory", "B", before, now, 0, Good::kLow, tolerance);
  if (row.verdict == Change::kRegressed && now < before + kMemorySlackBytes) row.verdict = Change::kAsBefore;
  return row;
}

}  // namespace

Result<TuningRecord> recorded_from_json(const Json& tuning) {
  TuningRecord recorded;
  std::string version;
  RIDGE_TRY(read_fields(tuning, [&](auto& visit) {
    visit.object("machine", [&](auto& machine) { machine("id", recorded.machine); });
    visit.object("best", [&](auto& best) {
      best("engine", recorded.engine);
      best("engine_version", version);
      best.optional("device", recorded.device);
      best("throughput_per_s", recorded.rows_per_s);
      best("ci95_percent", recorded.ci95_percent);
      best.object("latency_ms", [&](auto& latency) { latency.optional("p99", recorded.p99_ms); });
      best.object("memory_bytes", [&](auto& memory) { memory.optional("rss_delta", recorded.rss_delta_bytes); });
    });
    visit.object("baseline", [&](auto& untuned) {
      untuned.optional("engine", recorded.base_engine);
      untuned("throughput_per_s", recorded.untuned_rows_per_s);
    });
    visit("candidate", recorded.candidate);
    visit.object("goal", [&](auto& goal) { goal.optional("objective", recorded.objective); });
    visit.optional("shapes", recorded.shapes);
    visit("gain", recorded.gain);
    visit.object("drift", [&](auto& deviation) { deviation.optional("relative_l2", recorded.relative_l2); });
  }));
  recorded.engine += " " + version;
  return recorded;
}

NameTable<Change> names_of(Change) { return kChanges; }

std::vector<FigureChange> compare(const TuningRecord& before, const TuningRecord& now, const Strictness& strictness) {
  const double tolerance_percent = strictness.tolerance_percent;
  std::vector<FigureChange> rows;
  rows.push_back(judge_figure("gain", "gain over the untuned model", "×", before.gain.ratio, now.gain.ratio,
                              both(half_width(before.gain), half_width(now.gain)), Good::kHigh, tolerance_percent));
  const double half = both(before.ci95_percent, now.ci95_percent) / 100;
  auto absolute = [&](const char* id, const char* what, const char* unit, double a, double b, double spread,
                      Good good) {
    rows.push_back(judge_figure(id, what, unit, a, b, spread, good, tolerance_percent));
  };
  absolute("throughput", "throughput", "rows/s", before.rows_per_s, now.rows_per_s, half, Good::kHigh);
  absolute("untuned-throughput", "throughput of the untuned model", "rows/s", before.untuned_rows_per_s,
           now.untuned_rows_per_s, half, Good::kHigh);
  absolute("p99", "p99 of one run", "ms", before.p99_ms, now.p99_ms, both(kTailSpread, kTailSpread), Good::kLow);
  rows.push_back(of_memory(before.rss_delta_bytes, now.rss_delta_bytes, tolerance_percent));
  if (before.machine != now.machine)
    for (size_t i = 1; i < rows.size(); ++i) set_aside(rows[i], "recorded on another machine");
  const bool slower = rows[kUntunedRow].verdict == Change::kRegressed;
  if (slower && !strictness.absolute)
    for (size_t i = 1; i < rows.size(); ++i)
      if (rows[i].unit != "B") set_aside(rows[i], "the untuned model is slower too (--absolute counts it)");
  rows.push_back(of_deviation(before.relative_l2, now.relative_l2));
  return rows;
}

bool regressed(const std::vector<FigureChange>& all) {
  return std::any_of(all.begin(), all.end(), [](const FigureChange& row) { return row.verdict == Change::kRegressed; });
}

std::string conclusion(const std::vector<FigureChange>& all, const Strictness& strictness) {
  const auto worst =
      std::find_if(all.begin(), all.end(), [](const FigureChange& r) { return r.verdict == Change::kRegressed; });
  if (worst == all.end())
    return fmt::format("No regression: nothing is significantly worse by more than {:.3g} %.",
                       strictness.tolerance_percent);
  const auto others =
      std::count_if(worst + 1, all.end(), [](const FigureChange& r) { return r.verdict == Change::kRegressed; });
  std::string more = others > 0 ? fmt::format(", and {} more", others) : "";
  return fmt::format("Regressed: {} {:.4g}{} against {:.4g}{} before ({:+.3g} %){}.", worst->what, worst->now,
                     worst->unit.empty() ? "" : " " + worst->unit, worst->before,
                     worst->unit.empty() ? "" : " " + worst->unit, worst->change_percent, more);
}

}  // namespace ridge::tune
