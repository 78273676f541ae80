#include "app/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/kept.h"
#include "base/units.h"
#include "measure/difference.h"
#include "measure/measurement.h"

namespace ridge::app {
namespace {

using measure::Measurement;
using tune::FigureChange;

constexpr double kShownConfidence = 0.95;

std::string settings_of(const Measurement& m) {
  return fmt::format("batch {}, {} × {} threads, {} callers", m.batch, m.instances, m.threads, m.concurrency);
}

std::string load_of(const Measurement& m) {
  return m.load ? format_rate(m.load->rate_per_s, "requests") : std::string("a closed loop");
}

std::string shapes_of(const Measurement& m) {
  std::string text;
  for (const auto& [name, shape] : m.shapes) text += (text.empty() ? "" : " ") + name + shape_text(shape);
  return text;
}

std::string machine_of(const About& about) { return about.machine ? about.machine->id : "an unknown machine"; }

std::vector<Caveat> caveats_of(const About& before, const Measurement& then, const About& now,
                               const Measurement& today) {
  std::vector<Caveat> caveats;
  const auto differ = [&](const char* id, const char* what, const std::string& one, const std::string& other) {
    if (one != other) caveats.push_back({id, fmt::format("{}: {} then, {} now", what, one, other)});
  };
  differ("other-machine", "another machine", machine_of(before), machine_of(now));
  if (!then.model_digest.empty() && !today.model_digest.empty() && then.model_digest != today.model_digest)
    caveats.push_back({"other-model", fmt::format("the model files differ: {} and {}", then.model, today.model)});
  differ("other-shapes", "other shapes of the inputs", shapes_of(then), shapes_of(today));
  differ("other-precision", "another precision", std::string(precision_name(then.precision)),
         std::string(precision_name(today.precision)));
  differ("other-engine", "another engine or device",
         fmt::format("{} {} on {}", then.engine, then.engine_version, then.device),
         fmt::format("{} {} on {}", today.engine, today.engine_version, today.device));
  differ("other-settings", "other settings", settings_of(then), settings_of(today));
  differ("other-load", "another load", load_of(then), load_of(today));
  for (const auto& [measured, when] : {std::pair(&then, "then"), std::pair(&today, "now")})
    if (machine::disturbed(measured->disturbance))
      caveats.push_back({"disturbed", fmt::format("{}: {}", when, machine::sentence(*measured->disturbance))});
  return caveats;
}

// A figure of a bench: its value, and its difference in logarithms at a confidence.
struct Speed {
  const char *id, *what, *unit;
  double (*value)(const Measurement&);
  measure::MeanDifference (*difference)(const Measurement&, const Measurement&, double confidence);
  tune::Good good = tune::Good::kLow;
  bool decides = false;  // whether the answer is slower
};
template <int kPercent>
measure::MeanDifference of_percentile(const Measurement& then, const Measurement& today, double confidence) {
  return percentile_difference(then, today, kPercent, confidence);
}
// A closed loop's rate varies as its mean latency does.
measure::MeanDifference of_rate(const Measurement& then, const Measurement& today, double confidence) {
  return {std::log(today.throughput_per_s / then.throughput_per_s),
          mean_latency_difference(then, today, confidence).half_width};
}
constexpr Speed kSpeeds[] = {
    {"throughput", "throughput", "rows/s", [](const Measurement& m) { return m.throughput_per_s; }, of_rate,
     tune::Good::kHigh},
    {"mean", "mean latency", "ms", [](const Measurement& m) { return m.latency_ms.mean; },
     measure::mean_latency_difference, tune::Good::kLow, true},
    {"p50", "p50", "ms", [](const Measurement& m) { return m.latency_ms.p50; }, of_percentile<50>, tune::Good::kLow,
     true},
    {"p90", "p90", "ms", [](const Measurement& m) { return m.latency_ms.p90; }, of_percentile<90>},
    {"p99", "p99", "ms", [](const Measurement& m) { return m.latency_ms.p99; }, of_percentile<99>, tune::Good::kLow,
     true}};

struct Once {
  const char *id, *what, *unit;
  double (*value)(const Measurement&);
};
constexpr Once kOnce[] = {{"load", "opening the session", "ms", [](const Measurement& m) { return m.stages_ms.load; }},
                          {"first-run", "first run", "ms", [](const Measurement& m) { return m.stages_ms.first_run; }},
                          {"memory", "growth of resident memory", "B",
                           [](const Measurement& m) { return static_cast<double>(m.rss_delta_bytes); }}};

// Other work slows one run more than another, which no interval within a run covers.
bool judgeable(const Measurement& then, const Measurement& today) {
  return !machine::disturbed(then.disturbance) && !machine::disturbed(today.disturbance);
}

FigureChange of_speed(const Speed& speed, const Measurement& then, const Measurement& today, double accepted_percent,
                      bool& slower) {
  FigureChange row = tune::figure_of(speed.id, speed.what, speed.unit, speed.value(then), speed.value(today));
  if (row.before <= 0 || row.now <= 0) return tune::set_aside(std::move(row), "not measured");
  if (std::string_view(speed.id) == "throughput" && (then.load || today.load))
    return tune::set_aside(std::move(row), "given by the load");
  if (!judgeable(then, today)) return tune::set_aside(std::move(row), "not judged: a busy machine");
  const measure::MeanDifference shown = speed.difference(then, today, kShownConfidence);
  if (!std::isfinite(shown.half_width)) return tune::set_aside(std::move(row), "too few samples for an interval");
  tune::judge(shown, speed.good, 0, row);
  FigureChange strict = row;
  strict.verdict = tune::Change::kAsBefore;
  tune::judge(speed.difference(then, today, tune::kConfidence), speed.good, accepted_percent, strict);
  slower |= speed.decides && strict.verdict == tune::Change::kRegressed;
  return row;
}

// By name and operator; several of one name in the order in which they ran.
std::vector<LayerChange> layers_of(const Measurement& then, const Measurement& today) {
  if (then.layers.empty() || today.layers.empty()) return {};
  std::multimap<std::pair<std::string, std::string>, double> before;
  std::vector<measure::Layer> ran = then.layers;
  std::ranges::stable_sort(ran, {}, &measure::Layer::position);
  for (const measure::Layer& layer : ran) before.emplace(std::pair(layer.name, layer.op), layer.ms);
  ran = today.layers;
  std::ranges::stable_sort(ran, {}, &measure::Layer::position);
  std::vector<LayerChange> changes;
  for (const measure::Layer& layer : ran) {
    const auto found = before.find({layer.name, layer.op});
    changes.push_back({layer.name, layer.op, found == before.end() ? 0 : found->second, layer.ms});
    if (found != before.end()) before.erase(found);
  }
  for (const auto& [key, ms] : before) changes.push_back({key.first, key.second, ms, 0});
  std::ranges::stable_sort(changes, std::ranges::greater(),
                           [](const LayerChange& layer) { return std::abs(layer.now_ms - layer.before_ms); });
  return changes;
}

Status compare_benches(const Json& before, const Json& now, double accepted_percent, Comparison& comparison) {
  RIDGE_ASSIGN(const Measurement then, from_json<Measurement>(before));
  RIDGE_ASSIGN(const Measurement today, from_json<Measurement>(now));
  comparison.caveats = caveats_of(comparison.before, then, comparison.now, today);
  comparison.judged = judgeable(then, today);
  for (const Speed& speed : kSpeeds)
    comparison.figures.push_back(of_speed(speed, then, today, accepted_percent, comparison.slower));
  for (const Once& once : kOnce)
    comparison.figures.push_back(tune::set_aside(
        tune::figure_of(once.id, once.what, once.unit, once.value(then), once.value(today)), "measured once"));
  comparison.layers = layers_of(then, today);
  return {};
}

Status compare_tunings(const Json& before, const Json& now, double accepted_percent, Comparison& comparison) {
  RIDGE_ASSIGN(const tune::Tuning then, from_json<tune::Tuning>(before));
  RIDGE_ASSIGN(const tune::Tuning today, from_json<tune::Tuning>(now));
  if (then.shapes != today.shapes)
    comparison.caveats.push_back(
        {"other-shapes", "other shapes of the inputs: " + then.shapes + " then, " + today.shapes + " now"});
  comparison.figures = tune::compare(then, today, {.tolerance_percent = accepted_percent});
  comparison.slower = tune::regressed(comparison.figures);
  return {};
}

}  // namespace

Result<Comparison> compare(const Json& before, const Json& now, double accepted_percent) {
  Comparison comparison;
  comparison.before = about_of(before);
  comparison.now = about_of(now);
  const std::string& verb = comparison.before.command.verb;
  if (verb != comparison.now.command.verb)
    return Error{Code::kInvalid, fmt::format("documents of `ridge {}` and `ridge {}` have nothing to compare", verb,
                                             comparison.now.command.verb)};
  if (verb == "bench")
    RIDGE_TRY(compare_benches(before, now, accepted_percent, comparison));
  else if (verb == "tune")
    RIDGE_TRY(compare_tunings(before, now, accepted_percent, comparison));
  else
    return Error{Code::kInvalid,
                 fmt::format("documents of `ridge {}` are not compared; those of bench MODEL and tune are", verb)};
  return comparison;
}

}  // namespace ridge::app
