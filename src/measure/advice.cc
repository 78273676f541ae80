#include "measure/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "base/units.h"

namespace ridge::measure {
namespace {

// From this share on, the machine itself is the limit.
constexpr double kNearLimitPercent = 70;
// Below this bound a run is mostly the engine's own overhead (a run of an empty graph takes some 5 µs).
constexpr double kSmallBoundMs = 0.05;

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::string rounded(double value) { return std::to_string(std::lround(value)); }

std::optional<double> rate(const cost::DeviceLimits& limits, Precision precision) {
  for (const auto& [known, flops_per_s] : limits.flops_per_s)
    if (known == precision) return flops_per_s;
  return std::nullopt;
}

// The lower precision with the highest limit on this machine, as "INT8 has a 3.8 times higher limit here".
std::string faster_precision(const Measurement& m, const cost::DeviceLimits& limits) {
  std::optional<double> own = rate(limits, m.precision);
  if (!own) return "";
  double best = *own * 1.2;  // a fifth is the minimum that justifies a change of precision
  std::string text;
  for (Precision precision : {Precision::kBf16, Precision::kFp16, Precision::kInt8}) {
    std::optional<double> other = rate(limits, precision);
    if (!other || *other <= best) continue;
    best = *other;
    std::string times = std::to_string(best / *own);
    text = upper(precision_name(precision)) + " has a " + times.substr(0, times.find('.') + 2) +
           " times higher limit here";
  }
  return text;
}

Advice near_limit(const Measurement& m, const cost::DeviceLimits& limits) {
  std::string share =
      upper(precision_name(m.precision)) + " runs at " + rounded(m.percent_of_limit) + " % of this machine's ";
  if (m.limiter == cost::Limiter::kMemory)
    return {
        "memory-limit",
        share + "memory limit: only fewer bytes can help (lower precision, a larger batch that reuses the weights)."};
  std::string faster = faster_precision(m, limits);
  return {"compute-limit", share + upper(precision_name(m.precision)) +
                               " limit: only lower precision or more cores can help" +
                               (faster.empty() ? "." : "; " + faster + ".")};
}

// The operator with the most time above its bound, and that time as share of the whole.
std::string greatest_loss(const Measurement& m) {
  std::map<std::string, double> loss_ms;
  double total_ms = 0;
  for (const Layer& layer : m.layers) {
    loss_ms[layer.op] += std::max(0.0, layer.ms - layer.bound_ms);
    total_ms += layer.ms;
  }
  if (loss_ms.empty() || total_ms <= 0) return "";
  auto worst = std::max_element(loss_ms.begin(), loss_ms.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; });
  return worst->first + " loses the most, " + rounded(100 * worst->second / total_ms) + " % of the time";
}

// What an open loop shows is how the load is carried.
Advice about_load(const OpenLoad& load) {
  const std::string busy = fmt::format("callers busy {}, {} of queueing on average",
                                       format_percent(100 * load.busy_share), format_ms(load.queueing_ms));
  if (kept_up(load)) return {"kept-up", fmt::format("Kept up with {:.4g}/s: {}.", load.rate_per_s, busy)};
  return {"overloaded",
          fmt::format("Did not keep up with {:.4g}/s, reached {:.4g}/s: {}; the latencies grow with the "
                      "time of the measurement. Lower the rate, or add callers (--concurrency, --instances).",
                      load.rate_per_s, load.achieved_per_s, busy)};
}

Advice about_disturbance(const Measurement& m) {
  std::string text = machine::sentence(*m.disturbance);
  if (m.undisturbed && m.undisturbed->percent_of_limit > 0)
    text += fmt::format("; undisturbed (by the {} run) about {} % of the limit", m.undisturbed->by,
                        rounded(m.undisturbed->percent_of_limit));
  else if (m.undisturbed)
    text +=
        fmt::format("; undisturbed (by the {} run) about {}", m.undisturbed->by, format_ms(m.undisturbed->latency_ms));
  return {"disturbed", text + ". These figures are not about the model: measure again when the machine is quiet."};
}

}  // namespace

Advice advise(const Measurement& m, const cost::DeviceLimits* limits) {
  if (m.load) return about_load(*m.load);
  if (m.disturbance && machine::disturbed(*m.disturbance)) return about_disturbance(m);
  if (limits == nullptr || m.limiter == cost::Limiter::kUnknown || m.bound_ms <= 0)
    return {"limit-unknown", "The limit of this model on this machine is unknown, so there is no advice."};
  if (m.percent_of_limit >= kNearLimitPercent) return near_limit(m, *limits);
  std::string share = "It reaches " + rounded(m.percent_of_limit) + " % of the limit";
  if (m.percent_of_limit < 1.5) share = "It reaches less than 1.5 % of the limit";
  if (m.bound_ms < kSmallBoundMs)
    return {"small-model", share +
                               ": the engine's per-call overhead dominates; larger "
                               "batches amortise it."};
  std::string loss = greatest_loss(m);
  if (loss.empty()) loss = "--layers shows the time per layer";
  const bool larger_batch = m.batch <= 1;
  const char* remedy = larger_batch ? "a larger batch or several instances may help"
                                    : "another number of threads and instances may help";
  return {larger_batch ? "larger-batch" : "other-threads",
          share + ": " + loss + "; " + remedy + " (ridge tune searches them)."};
}

}  // namespace ridge::measure
