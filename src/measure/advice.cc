#include "measure/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "base/letter_case.h"
#include "base/units.h"

namespace ridge::measure {
namespace {

// A run at this share or above is limited by the machine itself.
constexpr double kNearLimitPercent = 70;
// Below this bound a run may be mostly the engine's own overhead: some 5 µs for a run of an empty graph, and 1 to 4 µs
// to start each node (ONNX Runtime 1.31.1 on an EPYC). A longer run is slow for another reason.
constexpr double kSmallBoundMs = 0.05;
constexpr double kMostOverheadMs = 0.05, kMostOverheadPerNodeMs = 0.005;
// Above this share of the run an operator that multiplies nothing decides its time.
constexpr double kDecidesShare = 0.5;

std::string rounded(double value) { return std::to_string(std::lround(value)); }

// Precision of most of the arithmetic.
Precision precision_of(const Measurement& m) {
  return m.arithmetic.empty() ? m.precision : m.arithmetic.front().precision;
}

// The lower precision with the highest limit on this machine, as "INT8 has a 3.8 times higher limit here".
std::string faster_precision(const Measurement& m, const cost::DeviceLimits& limits) {
  const double own = cost::rate_of(limits, precision_of(m)).flops_per_s;
  if (own <= 0) return "";
  double best = own * 1.2;  // a fifth is the minimum that justifies a change of precision
  std::string text;
  for (Precision precision : {Precision::kBf16, Precision::kFp16, Precision::kInt8}) {
    const double other = cost::own_rate(limits, precision);
    if (other <= best) continue;
    best = other;
    std::string times = std::to_string(best / own);
    text = upper_case(precision_name(precision)) + " has a " + times.substr(0, times.find('.') + 2) +
           " times higher limit here";
  }
  return text;
}

// A limit is measured with random numbers, and counts every multiply-add: on a GPU, whose clock follows its power, a
// product of 8192² BF16 matrices took 894 TFLOP/s with zeros and 788 with random numbers (H200), and cuDNN's
// convolutions may use Winograd or FFT.
Advice above_limit(const Measurement& m, const cost::DeviceLimits& limits) {
  const std::string share = "At " + rounded(m.percent_of_limit) + " % of the limit";
  if (limits.sources.empty())
    return {"limits-too-low",
            share +
                ", which is impossible: the stored limits are too low for this machine now. Measure them again "
                "with --fresh."};
  return {"above-limit",
          share +
              ": data of mostly zeros take less power, so that the GPU clocks higher, and convolutions by Winograd "
              "or FFT multiply less. Where neither holds, the stored limits are too low: measure them again with "
              "`ridge bench device --fresh -d` and the GPU."};
}

Advice near_limit(const Measurement& m, const cost::DeviceLimits& limits) {
  const std::string precision = upper_case(precision_name(precision_of(m)));
  std::string share = precision + " runs at " + rounded(m.percent_of_limit) + " % of this machine's ";
  if (m.limiter == cost::Limiter::kMemory)
    return {
        "memory-limit",
        share + "memory limit: only fewer bytes can help (lower precision, a larger batch that reuses the weights)."};
  std::string faster = faster_precision(m, limits);
  return {"compute-limit", share + precision + " limit: only lower precision or more cores can help" +
                               (faster.empty() ? "." : "; " + faster + ".")};
}

// An operator's part in the time of a run.
struct Part {
  std::string op;
  double share = 0;  // 0 to 1
};
// The operator with the greatest `figure` of its layers [ms]. Empty without layers.
template <typename Figure>
std::optional<Part> greatest(const Measurement& m, Figure figure) {
  std::map<std::string, double> by_op;
  double total_ms = 0;
  for (const Layer& layer : m.layers) {
    by_op[layer.op] += figure(layer);
    total_ms += layer.ms;
  }
  if (by_op.empty() || total_ms <= 0) return std::nullopt;
  const auto most =
      std::max_element(by_op.begin(), by_op.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return Part{most->first, most->second / total_ms};
}

// The operator with the most time above its bound, and that time as share of the whole.
std::string greatest_loss(const Measurement& m) {
  const auto worst = greatest(m, [](const Layer& layer) { return std::max(0.0, layer.ms - layer.bound_ms); });
  return worst ? "most of the loss is in " + worst->op + " (" + rounded(100 * worst->share) + " % of the run time)"
               : "";
}

bool overhead_explains(const Measurement& m) {
  return m.latency_ms.p50 <= kMostOverheadMs + kMostOverheadPerNodeMs * static_cast<double>(m.nodes);
}

Advice unknown_limit(const Measurement& m) {
  std::string text = "The limit of this model on this machine is not known";
  if (!m.limits.empty() || !m.without_rule.empty()) text += ", because most of its work has no rule or no known shape";
  if (const auto most = greatest(m, [](const Layer& layer) { return layer.ms; }))
    text += fmt::format("; {} takes {} of the run", most->op, format_percent(100 * most->share));
  return {"limit-unknown", text + ". There is no advice."};
}

// A bound of next to nothing: the engine's overhead decides, or an operator that the bound leaves out.
Advice about_small_bound(const Measurement& m, const std::string& share) {
  if (!overhead_explains(m))
    return {"see-layers", share +
                              ": neither arithmetic nor the engine's per-call overhead takes this long, so another "
                              "operator does; --layers names it."};
  return {"small-model", share + ": the engine's per-call overhead dominates; " +
                             (m.open_batch ? "larger batches amortise it."
                                           : "with an open first dimension, batches would amortise it.")};
}

// Judges how an open loop's load is carried.
Advice about_load(const OpenLoad& load) {
  const std::string busy = fmt::format("callers busy {}, {} of queueing on average",
                                       format_percent(100 * load.busy_share), format_ms(load.queueing_ms));
  const std::string rate = format_rate(load.rate_per_s, "requests");
  if (kept_up(load)) return {"kept-up", fmt::format("Kept up with {}: {}.", rate, busy)};
  return {"overloaded",
          fmt::format("Did not keep up with {}, reached {}: {}; the latencies grow with the "
                      "time of the measurement. Lower the rate, or add callers (--concurrency, --instances).",
                      rate, format_rate(load.achieved_per_s, "requests"), busy)};
}

Advice about_disturbance(const Measurement& m) {
  std::string text = machine::sentence(*m.disturbance);
  if (m.undisturbed && m.undisturbed->percent_of_limit > 0)
    text += fmt::format("; undisturbed (by the {} run) about {} % of the limit", m.undisturbed->by,
                        rounded(m.undisturbed->percent_of_limit));
  else if (m.undisturbed)
    text +=
        fmt::format("; undisturbed (by the {} run) about {}", m.undisturbed->by, format_ms(m.undisturbed->latency_ms));
  if (const std::string operation = deciding_operator(m); !operation.empty()) text += ". " + operation;
  return {"disturbed", text + ". These figures are not about the model: measure again when the machine is quiet."};
}

}  // namespace

std::string deciding_operator(const Measurement& m) {
  const auto part = greatest(m, [](const Layer& layer) { return layer.macs > 0 ? 0 : layer.ms; });
  if (!part || part->share <= kDecidesShare || (m.bound_ms < kSmallBoundMs && overhead_explains(m))) return "";
  return fmt::format(
      "{} takes {} of the run and multiplies nothing, so neither batch nor precision helps there; replace it, or move "
      "it out of the model",
      part->op, format_percent(100 * part->share));
}

Advice not_finite(const std::string& values) {
  return {"not-finite", "Not finite: " + values +
                            ", in a first run with random inputs. Real ones may differ (ridge tune --calibration); "
                            "else a weight or an overflow is to blame."};
}

Advice advise(const Measurement& m, const cost::DeviceLimits* limits) {
  if (m.load) return about_load(*m.load);
  if (machine::disturbed(m.disturbance)) return about_disturbance(m);
  if (limits == nullptr || m.limiter == cost::Limiter::kUnknown || m.bound_ms <= 0) return unknown_limit(m);
  if (m.percent_of_limit > 100) return above_limit(m, *limits);
  if (m.percent_of_limit >= kNearLimitPercent) return near_limit(m, *limits);
  std::string share = "At " + rounded(m.percent_of_limit) + " % of the limit";
  if (m.percent_of_limit < 1) share = "Below 1 % of the limit";
  if (const std::string operation = deciding_operator(m); !operation.empty())
    return {"one-operator", share + ": " + operation + "."};
  if (m.bound_ms < kSmallBoundMs && (m.layers.empty() || overhead_explains(m))) return about_small_bound(m, share);
  std::string loss = greatest_loss(m);
  if (loss.empty()) loss = "--layers shows the time per layer";
  const bool larger_batch = m.batch <= 1 && m.open_batch;
  const char* remedy = larger_batch ? "a larger batch or several instances may help"
                                    : "another number of threads and instances may help";
  return {larger_batch ? "larger-batch" : "other-threads",
          share + ": " + loss + "; " + remedy + " (ridge tune searches them)."};
}

}  // namespace ridge::measure
