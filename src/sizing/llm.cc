#include "sizing/llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::sizing {
namespace {

// GPTQ and AWQ: 4 bits, and per group of 128 a scale of 16 bits and a zero point of 4.
constexpr double kInt4Bits = 4 + (16 + 4) / 128.0;

constexpr std::array<WeightFormat, 6> kFormats = {{
    {.name = "fp32", .matrix_bits = 32, .other_bits = 32},
    {.name = "bf16", .matrix_bits = 16, .other_bits = 16},
    {.name = "fp16", .matrix_bits = 16, .other_bits = 16},
    {.name = "fp8", .matrix_bits = 8, .other_bits = 16, .note = "FP8 matrices in the layers, the rest 16 bits"},
    {.name = "int8", .matrix_bits = 8, .other_bits = 16, .note = "INT8 matrices in the layers, the rest 16 bits"},
    {.name = "int4",
     .matrix_bits = kInt4Bits,
     .other_bits = 16,
     .note = "4-bit matrices in groups of 128 (scale and zero point: 4.16 bits per weight), the rest 16 bits"},
}};

double real(int64_t value) { return static_cast<double>(value); }

double touched_experts(const LlmParameters& p, double tokens) {
  return llm::touched_experts(p.experts, p.experts_per_token, tokens);
}

// Bytes of weights read by a step of `tokens` tokens; one row of the embedding per token is negligible.
double step_weight_bytes(const LlmParameters& p, const WeightFormat& format, double tokens) {
  double layers = p.dense + p.experts * p.expert;
  double read = p.dense + touched_experts(p, tokens) * p.expert;
  double matrices = layers > 0 ? p.matrices * read / layers : 0;
  return (matrices * format.matrix_bits + (read - matrices + p.head) * format.other_bits) / 8;
}

double attention_flops(const LlmModel& model, double tokens, double cached) {
  if (model.layers) return llm::attention_flops(*model.layers, tokens, cached);
  return 4 * model.attention_width * (tokens * cached + tokens * (tokens + 1) / 2);
}

double active_in_layers(const LlmParameters& p) { return p.dense + p.experts_per_token * p.expert; }

LlmDecode decode_step(const LlmModel& model, const LlmForecast& f, int64_t batch, const cost::DeviceLimits& limits) {
  LlmDecode step;
  step.batch = batch;
  double sequences = real(batch), context = real(f.setup.context);
  const LlmParameters& p = model.parameters;
  step.bytes = step_weight_bytes(p, f.setup.weights, sequences) + sequences * f.kv_bytes_per_sequence;
  step.flops = sequences * (2 * (active_in_layers(p) + p.head) + attention_flops(model, 1, context - 1));
  step.bound = cost::bound(step.flops, step.bytes, f.setup.precision, limits);
  if (step.bound.ms > 0) step.tokens_per_s = 1e3 * sequences / step.bound.ms;
  step.fits = f.usable_bytes <= 0 || f.weight_bytes + sequences * f.kv_bytes_per_sequence <= f.usable_bytes;
  return step;
}

void size_memory(const LlmModel& model, LlmForecast& f) {
  f.weight_bytes = weight_bytes(model.parameters, f.setup.weights);
  f.kv_bytes_per_token = model.layers ? llm::cache_bytes_per_token(*model.layers, f.setup.kv_bits)
                                      : model.kv_values_per_token * f.setup.kv_bits / 8;
  f.kv_bytes_per_sequence = model.layers ? llm::cache_bytes(*model.layers, real(f.setup.context), f.setup.kv_bits)
                                         : f.kv_bytes_per_token * real(f.setup.context);
  f.usable_bytes = f.setup.memory_bytes * (1 - f.setup.reserve);
  if (f.usable_bytes <= 0) return;
  double left = f.usable_bytes - f.weight_bytes;
  if (left > 0 && f.kv_bytes_per_sequence > 0) f.sequences = static_cast<int64_t>(left / f.kv_bytes_per_sequence);
  f.fits = f.sequences >= 1;
  f.devices_for_weights = static_cast<int64_t>(std::ceil((f.weight_bytes + f.kv_bytes_per_sequence) / f.usable_bytes));
}

// The head is needed for the last token only; a causal mask leaves n · (n + 1) / 2 pairs.
void bound_prefill(const LlmModel& model, const cost::DeviceLimits& limits, LlmForecast& f) {
  double tokens = real(f.setup.prompt);
  const LlmParameters& p = model.parameters;
  f.prefill_flops = 2 * active_in_layers(p) * tokens + 2 * p.head + attention_flops(model, tokens, 0);
  double read = step_weight_bytes(p, f.setup.weights, tokens), written = tokens * f.kv_bytes_per_token;
  f.prefill = cost::bound(f.prefill_flops, std::max(read, written), f.setup.precision, limits);
  if (f.prefill.ms > 0) f.prefill_tokens_per_s = 1e3 * tokens / f.prefill.ms;
}

void add_notes(const LlmModel& model, const cost::DeviceLimits& limits, LlmForecast& f) {
  f.notes = model.notes;
  if (!f.setup.weights.note.empty()) f.notes.emplace_back(f.setup.weights.note);
  for (std::string& note : cost::notes(limits, {f.setup.precision})) f.notes.push_back(std::move(note));
  if (model.parameters.experts > 0)
    f.notes.push_back(
        "experts: tokens choose independently, from experts of unequal popularity (assumed), so a step reads some of "
        "them only");
  if (model.context > 0 && f.setup.context > model.context)
    f.notes.push_back(fmt::format("a context of {} tokens is above the model's {}", f.setup.context, model.context));
}

}  // namespace

std::vector<WeightFormat> weight_formats() { return {kFormats.begin(), kFormats.end()}; }

Result<WeightFormat> weight_format(std::string_view name) {
  std::string known;
  for (const WeightFormat& format : kFormats) {
    if (format.name == name) return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  return Error{Code::kInvalid, fmt::format("unknown form of weights '{}'; known: {}", name, known)};
}

double weight_bytes(const LlmParameters& p, const WeightFormat& format) {
  return (p.matrices * format.matrix_bits + (p.total - p.matrices) * format.other_bits) / 8;
}

LlmModel model_of(const llm::Model& model) {
  const llm::Parameters counted = llm::parameters_of(model);
  LlmModel result;
  result.name = model.name;
  LlmParameters& p = result.parameters;
  p.embedding = counted.embedding;
  p.head = counted.head;
  p.dense = counted.attention + counted.feed_forward + counted.router + counted.small;
  for (const llm::Layers& group : model.layers) {
    p.experts = std::max(p.experts, real(group.feed_forward.experts));
    p.experts_per_token = std::max(p.experts_per_token, real(group.feed_forward.experts_per_token));
  }
  if (p.experts > 0) p.expert = counted.experts / p.experts;
  p.matrices = counted.attention + counted.feed_forward + counted.experts;
  p.total = counted.total;
  p.active = counted.active;
  result.context = model.context;
  result.notes = model.notes;
  result.layers = model;
  return result;
}

std::vector<int64_t> decode_batches(int64_t most) {
  std::vector<int64_t> batches = {1};
  for (int64_t batch = 4; batch < most; batch *= 4) batches.push_back(batch);
  if (most > 1) batches.push_back(most);
  return batches;
}

LlmForecast forecast(const LlmModel& model, const LlmSetup& setup, const cost::DeviceLimits& limits) {
  LlmForecast f;
  f.model = model.name;
  f.device = limits.device;
  f.origin = cost::origin_at(limits, setup.precision);
  f.parameters = model.parameters;
  f.setup = setup;
  size_memory(model, f);
  bound_prefill(model, limits, f);
  for (int64_t batch : setup.batches) f.decode.push_back(decode_step(model, f, batch, limits));
  add_notes(model, limits, f);
  return f;
}

}  // namespace ridge::sizing
