#include "cli/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/limits_text.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using predict::Forecast;

std::string limit_text(cost::Limiter limiter) { return std::string(cost::limiter_name(limiter)); }

std::string title(const Forecast& f) {
  std::string text = fmt::format("{} · batch {} · {} · {}", f.model, f.batch,
                                 cost::precisions_text(f.arithmetic, f.precision), f.device);
  if (f.device_kind == "cpu") return text + fmt::format(", {}", counted(f.threads, "thread"));
  return text + fmt::format(" ({})", origin_name(f.origin));
}

std::string memory_text(const Forecast& f) {
  std::string text = "weights and at most " + format_bytes(f.peak_activation_bytes) + " of activations (derived)";
  if (f.device_memory_bytes > 0 && f.inference_bytes > f.device_memory_bytes)
    text += "; the device has " + format_bytes(f.device_memory_bytes) + ": does not fit";
  return text;
}

// Below, a call of any engine costs more: the rate that it would allow says nothing.
constexpr double kLeastCall_ms = 1e-3;

std::string bound_text(double bound_ms) { return bound_ms > 0 ? format_ms(bound_ms) : "not known"; }

std::string share_text(double bound_ms, double estimate_ms) {
  if (bound_ms <= 0 || estimate_ms <= 0) return "share of the limit not known";
  return "share of the limit " + format_percent(100 * bound_ms / estimate_ms);
}

std::vector<std::vector<std::string>> measured_rows(const predict::EngineReport& r, const Forecast& f) {
  return {
      {"measured", format_ms(r.latency_ms.p50),
       fmt::format("median of {}, p99 {}; {} ({})", counted(r.runs, "run"), format_ms(r.latency_ms.p99),
                   share_text(f.bound.ms, r.latency_ms.p50), r.engine_name())},
      {"reaches", format_row_rate(1e3 * static_cast<double>(f.batch) / r.latency_ms.mean), "one run after the other"}};
}

std::vector<std::vector<std::string>> estimate_rows(const predict::DeviceEstimate& e, double bound_ms) {
  if (e.ms.likely <= 0) return {};
  return {{"estimate", format_ms(e.ms.likely),
           fmt::format("{} to {}; {} (carried over from publicly measured devices)", format_ms(e.ms.fast),
                       format_ms(e.ms.slow), share_text(bound_ms, e.ms.likely))},
          {"may reach", format_row_rate(e.throughput_per_s),
           fmt::format("time split: compute {}, memory {}, launches {}", format_percent(100 * e.held.compute),
                       format_percent(100 * e.held.memory), format_percent(100 * e.held.start))}};
}

std::string summary_table(const app::ModelPlan& plan) {
  const Forecast& f = plan.forecast;
  std::string origin(origin_name(f.origin));
  const bool known = f.bound.ms > 0;
  const bool tiny = known && f.bound.ms < kLeastCall_ms;
  const std::string rate = tiny    ? "-"
                           : known ? format_row_rate(1e3 * static_cast<double>(f.batch) / f.bound.ms)
                                   : "not known";
  const bool uncounted = f.flops == 0 && !known;
  std::vector<std::vector<std::string>> rows = {
      {"FLOPs", uncounted ? "not known" : format_flops(f.flops),
       uncounted ? "no operator that computes has a rule and known shapes"
                 : format_count(f.macs) + " multiply-adds (derived)"},
      {"parameters", format_count(static_cast<double>(f.parameters)), format_bytes(f.weight_bytes) + " as stored"},
      {"bytes", format_bytes(f.bytes),
       "layer by layer, each operand once; at least " + format_bytes(f.compulsory_bytes) + " for the whole (derived)"},
      {"memory", format_bytes(f.inference_bytes), memory_text(f)},
      {"intensity", uncounted ? "not known" : fmt::format("{:.1f} FLOP/byte", f.bytes > 0 ? f.flops / f.bytes : 0),
       fmt::format("ridge point of the device: {:.1f} FLOP/byte ({})", f.ridge_point, origin)},
      {"bound", bound_text(f.bound.ms),
       known ? fmt::format("limited by {}: compute {}, memory {} (derived from {} limits)", limit_text(f.bound.limiter),
                           format_ms(f.bound.compute_ms), format_ms(f.bound.memory_ms), origin)
             : "most of the arithmetic has no rule or no known shape"},
      {"at most", rate,
       tiny ? "the bound is shorter than a call of an engine, which decides here"
            : "upper bound for any engine on this device"}};
  if (f.data_flops > 0)
    rows.insert(rows.begin() + 1,
                {"by the data", "≤ " + format_flops(f.data_flops),
                 "beside them: boxes that NonMaxSuppression compares; it depends on the data how many"});
  if (!f.arithmetic.empty()) rows.push_back({"peaks", "", limits_text(f.arithmetic, f.limits)});
  if (plan.carried)
    for (std::vector<std::string>& row : estimate_rows(*plan.carried, f.bound.ms)) rows.push_back(std::move(row));
  if (plan.measured && plan.measured->report)
    for (std::vector<std::string>& row : measured_rows(*plan.measured->report, f)) rows.push_back(std::move(row));
  return table({}, rows, "lrl");
}

std::string curve_table(const std::vector<predict::CurvePoint>& curve) {
  Json rows = json_of(curve);
  for (size_t i = 0; i < curve.size(); ++i)
    if (curve[i].bound_ms < kLeastCall_ms) rows[i].erase("throughput_per_s");
  return figure_table("plan", "curve", rows);
}

std::vector<const Forecast::Layer*> longest_layers(const Forecast& forecast) {
  std::vector<const Forecast::Layer*> layers;
  for (const auto& layer : forecast.layers)
    if (layer.runs) layers.push_back(&layer);
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto* a, const auto* b) { return a->bound_ms > b->bound_ms; });
  return layers;
}

std::string layer_table(const Forecast& forecast, size_t most) {
  std::vector<const Forecast::Layer*> layers = longest_layers(forecast);
  layers.resize(std::min(layers.size(), most));
  Json rows = Json::array();
  OwnColumn names{"layer"};
  for (const auto* layer : layers) {
    names.cells.push_back(layer->name);
    rows.push_back(json_of(*layer));
  }
  return figure_table("plan", "layers", rows, {}, {{names}, {}});
}

}  // namespace

std::string summary_text(const app::ModelPlan& plan) {
  const Forecast& f = plan.forecast;
  std::string text = title(f) + "\n" + summary_table(plan);
  for (const std::string& reason : plan.reasons) text += "plan: " + reason + "\n";
  for (const std::string& note : f.notes) text += note_text(note);
  if (plan.carried)
    for (const std::string& note : plan.carried->evidence) text += note_text(note);
  if (!plan.curve.empty()) text += "\n" + curve_table(plan.curve);
  return text;
}

std::string layers_text(const app::ModelPlan& plan, int most) {
  return most <= 0 ? "" : "\n" + layer_table(plan.forecast, static_cast<size_t>(most));
}

std::string csv_text(const app::ModelPlan& plan) {
  if (!plan.curve.empty())
    return csv_table("batch bound_ms throughput_per_s limiter memory_bytes fits estimate_ms", json_of(plan.curve));
  Json layers = json_of(plan.forecast.layers);
  for (Json& layer : layers)
    for (const char* unless_false : {"has_rule", "runs"}) layer.emplace(unless_false, true);
  return csv_table("name op flops macs bytes intensity bound_ms limiter has_rule runs", layers);
}

}  // namespace ridge::cli
