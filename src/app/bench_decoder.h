// `ridge bench FOLDER` or FILE.gguf without options and text: measures prefill and decode of a language model's
// checkpoint beside the limits of this machine. Prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "base/fields.h"
#include "base/result.h"
#include "cost/costs.h"
#include "engine/decoder.h"
#include "generate/step_line.h"
#include "llm/cpu/decoder_limit.h"
#include "machine/disturbance.h"
#include "machine/machine.h"
#include "measure/decoder_steps.h"

namespace ridge::app {

struct DecoderBenchRequest {
  engine::DecoderPlan plan;                     // its form of weights by the next
  std::optional<engine::WeightFormat> weights;  // that is asked for
  int64_t prompt = 256, generated = 32;         // [tokens]
  std::vector<int64_t> batches;                 // of decodes; empty: kUsualBatches, as far as the memory takes them
  measure::StepsOptions how;
  bool fresh = false;           // of the machine's limits
  bool keep_disturbed = false;  // of a step line
};
inline constexpr int64_t kUsualBatches[] = {1, 8, 32};

// kPrefill: the whole prompt of one sequence. kDecode: one token per sequence after the prompt. kStep: other sizes.
enum class StepKind { kPrefill, kDecode, kStep };
NameTable<StepKind> names_of(StepKind);

struct DecoderPoint {
  StepKind kind = StepKind::kStep;
  int64_t sequences = 1;
  int64_t tokens = 1;  // new, of each
  double cached = 0;   // of each before the step: mean over the steps of a slice
  double step_ms = 0;  // median
  measure::Interval step_ci95_ms;
  double tokens_per_s = 0;  // of all sequences together
  double flops = 0;         // of a step
  double bytes = 0;         // of weights and cache that a step reads
  cost::Bound bound;
  double percent_of_limit = 0;  // 0: the limit is not known
  double line_ms = 0;           // by the step line
};
double line_error_percent(const DecoderPoint& point);  // of line_ms, against what was measured
// The error that nine in ten of the points keep within; 0: none has a line.
double line_error_percent(std::span<const DecoderPoint> points);
void visit_fields(auto& visit, Is<DecoderPoint> auto& p) {
  visit("kind", p.kind);
  visit("sequences", p.sequences);
  visit("tokens", p.tokens);
  visit("cached", p.cached);
  visit("step_ms", p.step_ms);
  visit("step_ci95_ms", p.step_ci95_ms);
  visit("tokens_per_s", p.tokens_per_s);
  visit("flops", p.flops);
  visit("bytes", p.bytes);
  visit_fields(visit, p.bound);
  visit.or_null("percent_of_limit", p.percent_of_limit);
  visit.or_null("line_ms", p.line_ms);
}

struct DecoderMeasurement {
  std::string model;  // the folder or file
  std::string engine, engine_version;
  engine::WeightFormat weights = engine::WeightFormat::kBf16;
  engine::CacheForm cache = engine::CacheForm::kU8;
  int threads = 0;
  int64_t prompt = 0, generated = 0;
  double parameters = 0;
  double load_ms = 0;
  int64_t weight_bytes = 0;          // read by a step of one token, as the engine holds them
  double cache_bytes_per_token = 0;  // as the engine lays it out
  int64_t cache_bytes = 0;           // of all blocks
  int64_t rounds = 0;
  bool converged = false, interrupted = false;
  std::vector<DecoderPoint> points;
  generate::StepLine line;  // unknown: the points are too few
  std::string device;       // of the limits
  std::vector<cost::DeviceLimits::Source> limits;
  std::optional<machine::Disturbance> disturbance;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<DecoderMeasurement> auto& m) {
  visit("model", m.model);
  visit("engine", m.engine);
  visit("engine_version", m.engine_version);
  visit("weights", m.weights);
  visit("cache", m.cache);
  visit("threads", m.threads);
  visit("prompt", m.prompt);
  visit("generated", m.generated);
  visit("params", m.parameters);
  visit("load_ms", m.load_ms);
  visit("weight_bytes", m.weight_bytes);
  visit("cache_bytes_per_token", m.cache_bytes_per_token);
  visit("cache_bytes", m.cache_bytes);
  visit("rounds", m.rounds);
  visit("converged", m.converged);
  visit("interrupted", m.interrupted);
  visit("points", m.points);
  visit("step_line", m.line);
  visit("device", m.device);
  visit("limits", m.limits);
  visit.unless_empty("disturbance", m.disturbance);
  visit("notes", m.notes);
}

// Wrong in itself has Code::kInvalid. Interrupted, what was measured until then.
Result<DecoderMeasurement> bench_decoder(const DecoderBenchRequest& request, const RunControl& control);

// The steps that are measured: prefill first, then a decode of each batch, then others for the line.
struct KindOfStep {
  StepKind kind = StepKind::kStep;
  measure::StepCase size;
};
std::vector<KindOfStep> steps_of(int64_t prompt, int64_t generated, std::span<const int64_t> batches);
// The points of measured steps, beside the limit.
std::vector<DecoderPoint> points_of(std::span<const KindOfStep> steps, const measure::StepTimes& times,
                                    const llm::cpu::DecoderLimit& limit);
// Fits the line and writes what it says beside each point.
generate::StepLine fit_line(std::vector<DecoderPoint>& points);

}  // namespace ridge::app
