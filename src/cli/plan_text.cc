#include "cli/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "cli/plan_estimate.h"
#include "cli/roofline_chart.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using predict::Forecast;

std::string limit_text(cost::Limiter limiter) { return std::string(cost::limiter_name(limiter)); }

std::string title(const Forecast& f) {
  std::string text = fmt::format("{} · batch {} · {} · {}", f.model, f.batch, precision_name(f.precision), f.device);
  if (f.device_kind == "cpu") return text + fmt::format(", {} thread{}", f.threads, f.threads == 1 ? "" : "s");
  return text + fmt::format(" ({})", origin_name(f.origin));
}

std::string memory_text(const Forecast& f) {
  std::string text = "weights and at most " + format_bytes(f.peak_activation_bytes) + " of activations (derived)";
  if (f.device_memory_bytes > 0 && f.inference_bytes > f.device_memory_bytes)
    text += "; the device has " + format_bytes(f.device_memory_bytes) + ": does not fit";
  return text;
}

std::string summary_table(const Study& study) {
  const Forecast& f = study.forecast;
  std::string origin(origin_name(f.origin));
  std::string rate =
      f.bound.ms > 0 ? fmt::format("{:.4g} items/s", 1e3 * static_cast<double>(f.batch) / f.bound.ms) : "-";
  std::vector<std::vector<std::string>> rows = {
      {"FLOPs", format_flops(f.flops), format_count(f.macs) + " multiply-adds (derived)"},
      {"parameters", format_count(static_cast<double>(f.parameters)), format_bytes(f.weight_bytes) + " as stored"},
      {"bytes", format_bytes(f.bytes),
       "layer by layer, each operand once; at least " + format_bytes(f.compulsory_bytes) + " for the whole (derived)"},
      {"memory", format_bytes(f.inference_bytes), memory_text(f)},
      {"intensity", fmt::format("{:.1f} FLOP/byte", f.bytes > 0 ? f.flops / f.bytes : 0),
       fmt::format("ridge point of the device: {:.1f} FLOP/byte ({})", f.ridge_point, origin)},
      {"bound", format_ms(f.bound.ms),
       fmt::format("limited by {}: compute {}, memory {} (derived from {} limits)", limit_text(f.bound.limiter),
                   format_ms(f.bound.compute_ms), format_ms(f.bound.memory_ms), origin)},
      {"at most", rate, "what no engine on this device can beat"}};
  if (study.estimate)
    for (std::vector<std::string>& row : estimate_rows(*study.estimate, f.bound.ms)) rows.push_back(std::move(row));
  if (study.carried)
    for (std::vector<std::string>& row : estimate_rows(*study.carried, f.bound.ms)) rows.push_back(std::move(row));
  return table({}, rows, "lrl");
}

std::string curve_table(const std::vector<predict::CurvePoint>& curve) {
  bool estimated = std::any_of(curve.begin(), curve.end(), [](const auto& point) { return point.estimate_ms; });
  std::vector<std::string> header = {"batch", "bound", "at most", "limiter", "memory"};
  if (estimated) header.insert(header.begin() + 2, "estimate");
  std::vector<std::vector<std::string>> rows;
  for (const predict::CurvePoint& point : curve) {
    rows.push_back({std::to_string(point.batch), format_ms(point.bound_ms),
                    fmt::format("{:.4g} items/s", point.throughput_per_s), limit_text(point.limiter),
                    format_bytes(point.memory_bytes) + (point.fits.value_or(true) ? "" : ": does not fit")});
    if (estimated) rows.back().insert(rows.back().begin() + 2, point.estimate_ms ? format_ms(*point.estimate_ms) : "-");
  }
  return table(header, rows, estimated ? "rrrrlr" : "rrrlr");
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
  std::vector<std::vector<std::string>> rows;
  for (const auto* layer : layers)
    rows.push_back({layer->name, layer->op, layer->has_rule ? format_flops(layer->flops) : "no rule",
                    format_bytes(layer->bytes), fmt::format("{:.1f}", layer->intensity), format_ms(layer->bound_ms),
                    limit_text(layer->limiter)});
  return table({"layer", "operator", "FLOPs", "bytes", "FLOP/byte", "bound", "limiter"}, rows, "llrrrrl");
}

std::string layer_csv(const Forecast& forecast) {
  std::string text = "name,op,flops,macs,bytes,intensity,bound_ms,limiter,has_rule,runs\n";
  for (const auto& layer : forecast.layers)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_field(layer.name), csv_field(layer.op), layer.flops,
                        layer.macs, layer.bytes, layer.intensity, layer.bound_ms, limit_text(layer.limiter),
                        layer.has_rule, layer.runs);
  return text;
}

std::string curve_csv(const std::vector<predict::CurvePoint>& curve) {
  std::string text = "batch,bound_ms,throughput_per_s,limiter,memory_bytes,fits,estimate_ms\n";
  for (const predict::CurvePoint& point : curve)
    text += fmt::format("{},{},{},{},{},{},{}\n", point.batch, point.bound_ms, point.throughput_per_s,
                        limit_text(point.limiter), point.memory_bytes, point.fits ? fmt::format("{}", *point.fits) : "",
                        point.estimate_ms ? fmt::format("{}", *point.estimate_ms) : "");
  return text;
}

}  // namespace

std::string summary_text(const Study& study) {
  const Forecast& f = study.forecast;
  std::string text = title(f) + "\n" + summary_table(study);
  for (const std::string& reason : study.plan.reasons) text += "plan: " + reason + "\n";
  for (const std::string& note : f.notes) text += "note: " + note + "\n";
  for (const std::string& note : estimate_notes(study)) text += "note: " + note + "\n";
  if (!study.curve.empty()) text += "\n" + curve_table(study.curve);
  return text;
}

std::string layers_text(const Study& study) {
  int most = study.request.options.layers;
  if (most <= 0) return "";
  std::string chart = roofline_chart(study.forecast, {.columns = terminal_columns(), .unicode = terminal_is_utf8()});
  return "\n" + chart + (chart.empty() ? "" : "\n") + layer_table(study.forecast, static_cast<size_t>(most)) +
         (study.estimate ? "\n" + estimate_table(*study.estimate, most) : "");
}

std::string csv_text(const Study& study) {
  return study.curve.empty() ? layer_csv(study.forecast) : curve_csv(study.curve);
}

}  // namespace ridge::cli
