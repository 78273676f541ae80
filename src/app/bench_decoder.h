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
#include "base/figure.h"
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
  int64_t sequences = 1, tokens = 1;
  double cached = 0, step_ms = 0;
  measure::Interval step_ci95_ms;
  double tokens_per_s = 0, flops = 0, bytes = 0;
  cost::Bound bound;
  double percent_of_limit = 0;  // 0: the limit is not known
  double line_ms = 0;           // by the step line
};
double line_error_percent(const DecoderPoint& point);  // of line_ms, against what was measured
// The error that nine in ten of the points keep within; 0: none has a line.
double line_error_percent(std::span<const DecoderPoint> points);
void visit_fields(auto& visit, Is<DecoderPoint> auto& p) {
  visit("kind", p.kind, Figure().csv());
  visit("sequences", p.sequences, Figure().csv());
  visit("tokens", p.tokens, means("new, of each").csv());
  visit("cached", p.cached, means("of each before the step, mean").csv());
  visit("step_ms", p.step_ms,
        means("median over the rounds of the mean over the steps of a round").column("time").csv().low_is_better());
  visit("step_ci95_ms", p.step_ci95_ms, means("95 % interval of step_ms").column("at 95 %").csv("step"));
  visit("tokens_per_s", p.tokens_per_s,
        means("of all sequences").column("tokens/s").in("tokens/s").csv().high_is_better());
  visit("flops", p.flops, Figure().csv());
  visit("bytes", p.bytes, means("weights and cache that a step must read").csv());
  visit_fields(visit, p.bound);
  visit.or_null("percent_of_limit", p.percent_of_limit,
                means("100 · bound_ms / step_ms").column("share of the limit").csv());
  visit.or_null("line_ms", p.line_ms, means("by the line").csv());
}

struct DecoderMeasurement {
  std::string model, engine, engine_version;
  engine::WeightFormat weights = engine::WeightFormat::kBf16;
  engine::CacheForm cache = engine::CacheForm::kU8;
  int threads = 0;
  int64_t prompt = 0, generated = 0;
  double parameters = 0, load_ms = 0;
  int64_t weight_bytes = 0;
  double cache_bytes_per_token = 0;
  int64_t cache_bytes = 0, rounds = 0;
  bool converged = false, interrupted = false;
  std::vector<DecoderPoint> points;
  generate::StepLine line;  // unknown: the points are too few
  std::string device;
  std::vector<cost::DeviceLimits::Source> limits;
  std::optional<machine::Disturbance> disturbance;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<DecoderMeasurement> auto& m) {
  visit("model", m.model, means("the folder or file"));
  visit("engine", m.engine);
  visit("engine_version", m.engine_version);
  visit("weights", m.weights, means("form of the weights"));
  visit("cache", m.cache, means("form of keys and values"));
  visit("threads", m.threads);
  visit("prompt", m.prompt, means("tokens of a prefill"));
  visit("generated", m.generated, means("steps of a decode"));
  visit("params", m.parameters, means("by config.json"));
  visit("load_ms", m.load_ms, means("opening").low_is_better());
  visit("weight_bytes", m.weight_bytes, means("that a step of one token reads"));
  visit("cache_bytes_per_token", m.cache_bytes_per_token, means("of the cache as the engine lays it out").in("B"));
  visit("cache_bytes", m.cache_bytes, means("in all"));
  visit("rounds", m.rounds, means("interleaved"));
  visit("converged", m.converged, means("the times became steady before `--seconds`"));
  visit("interrupted", m.interrupted, means("by Ctrl-C"));
  visit("points", m.points, means("prefill first, then a decode per batch, then steps for the line"));
  visit("step_line", m.line,
        means("seconds of a step: the larger of the floor and the sum of the others times 1, new tokens, cached tokens "
              "that attention reads, further pairs (each new token of a sequence after its first, with the tokens "
              "before it), and rows of logits (one of each sequence, however long its prompt); all 0: not known"));
  visit("device", m.device, means("whose limits"));
  visit("limits", m.limits, means("those that the bounds use"));
  visit.unless_empty("disturbance", m.disturbance, means("as of `bench MODEL`"));
  visit("notes", m.notes, means("sentences"));
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
