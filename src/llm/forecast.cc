#include "llm/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::llm {
namespace {

constexpr std::array kShown = {WeightFormat::kFp32, WeightFormat::kBf16, WeightFormat::kFp16,
                               WeightFormat::kFp8,  WeightFormat::kInt8, WeightFormat::kInt4};

double as_real(int64_t value) { return static_cast<double>(value); }

double used_by_all(const Parameters& p) { return p.attention + p.feed_forward + p.router + p.small; }
double quantised(const Parameters& p) { return p.attention + p.feed_forward + p.experts; }
double of_expert(const Parameters& p) { return p.expert_count > 0 ? p.experts / p.expert_count : 0; }
double used_by_token(const Parameters& p) { return used_by_all(p) + p.experts_per_token * of_expert(p); }

// [bytes] of weights that a step of so many tokens reads; one row of the embedding per token is negligible.
double step_weight_bytes(const Parameters& p, const Storage& weights, double tokens) {
  const double layers = used_by_all(p) + p.expert_count * of_expert(p);
  const double read = used_by_all(p) + touched_experts(p.expert_count, p.experts_per_token, tokens) * of_expert(p);
  const double matrices = layers > 0 ? quantised(p) * read / layers : 0;
  return (matrices * weights.matrix_bits + (read - matrices + p.head) * weights.other_bits) / 8;
}

DecodeStep decode_step(const Model& model, const Forecast& f, int64_t batch, const cost::DeviceLimits& limits) {
  DecodeStep step;
  step.batch = batch;
  double sequences = as_real(batch), context = as_real(f.setup.context);
  const Parameters& p = f.parameters;
  step.bytes = step_weight_bytes(p, f.setup.weights, sequences) + sequences * f.kv_bytes_per_sequence;
  step.flops = sequences * (2 * (used_by_token(p) + p.head) + attention_flops(model, 1, context - 1));
  step.bound = cost::bound(step.flops, step.bytes, f.setup.precision, limits);
  if (step.bound.ms > 0) step.tokens_per_s = 1e3 * sequences / step.bound.ms;
  step.fits = f.usable_bytes <= 0 || f.weight_bytes + sequences * f.kv_bytes_per_sequence <= f.usable_bytes;
  return step;
}

void size_memory(const Model& model, Forecast& f) {
  f.weight_bytes = weight_bytes(f.parameters, f.setup.weights);
  f.kv_bytes_per_token = cache_bytes_per_token(model, f.setup.kv_bits);
  f.kv_bytes_per_sequence = cache_bytes(model, as_real(f.setup.context), f.setup.kv_bits);
  f.usable_bytes = f.setup.memory_bytes * (1 - f.setup.reserve);
  if (f.usable_bytes <= 0) return;
  double left = f.usable_bytes - f.weight_bytes;
  const bool some = left > 0 && f.kv_bytes_per_sequence > 0;
  f.sequences = some ? static_cast<int64_t>(left / f.kv_bytes_per_sequence) : 0;
  f.fits = f.sequences >= 1;
  f.devices_for_weights = static_cast<int64_t>(std::ceil((f.weight_bytes + f.kv_bytes_per_sequence) / f.usable_bytes));
}

// The head is needed for the last token only; a causal mask leaves n · (n + 1) / 2 pairs.
void bound_prefill(const Model& model, const cost::DeviceLimits& limits, Forecast& f) {
  double tokens = as_real(f.setup.prompt);
  const Parameters& p = f.parameters;
  f.prefill_flops = 2 * used_by_token(p) * tokens + 2 * p.head + attention_flops(model, tokens, 0);
  double read = step_weight_bytes(p, f.setup.weights, tokens), written = tokens * f.kv_bytes_per_token;
  f.prefill = cost::bound(f.prefill_flops, std::max(read, written), f.setup.precision, limits);
  if (f.prefill.ms > 0) f.prefill_tokens_per_s = 1e3 * tokens / f.prefill.ms;
}

std::string storage_note(const Storage& weights) {
  if (weights.matrix_bits < 8)
    return "4-bit matrices in groups of 128 (scale and zero point: 4.16 bits per weight), the rest 16 bits";
  return fmt::format("{} matrices in the layers, the rest 16 bits", weights.name == "fp8" ? "FP8" : "INT8");
}

void add_notes(const Model& model, const cost::DeviceLimits& limits, Forecast& f) {
  f.notes = model.notes;
  if (f.setup.weights.matrix_bits < f.setup.weights.other_bits) f.notes.push_back(storage_note(f.setup.weights));
  for (std::string& note : cost::notes(limits, {f.setup.precision})) f.notes.push_back(std::move(note));
  if (f.parameters.expert_count > 0)
    f.notes.push_back(
        "experts: tokens choose independently, from experts of unequal popularity (assumed), so a step reads some of "
        "them only");
  if (model.context > 0 && f.setup.context > model.context)
    f.notes.push_back(fmt::format("a context of {} tokens is above the model's {}", f.setup.context, model.context));
}

}  // namespace

std::vector<Storage> storages() {
  std::vector<Storage> all;
  for (const WeightFormat format : kShown)
    all.push_back({std::string(name_of(names_of(format), format)), bits_of(format), other_bits_of(format)});
  return all;
}

Result<Storage> storage(std::string_view name) {
  std::vector<std::pair<Storage, std::string_view>> named;
  for (const Storage& form : storages()) named.emplace_back(form, form.name);
  return from_name<Storage>(named, name, "form of weights");
}

double weight_bytes(const Parameters& p, const Storage& weights) {
  return (quantised(p) * weights.matrix_bits + (p.total - quantised(p)) * weights.other_bits) / 8;
}

std::vector<int64_t> decode_batches(int64_t most) {
  std::vector<int64_t> batches = {1};
  for (int64_t batch = 4; batch < most; batch *= 4) batches.push_back(batch);
  if (most > 1) batches.push_back(most);
  return batches;
}

Forecast forecast(const Model& model, const Parameters& parameters, const ForecastSetup& setup,
                  const cost::DeviceLimits& limits) {
  Forecast f;
  f.model = model.name;
  f.device = limits.device;
  f.origin = cost::origin_at(limits, setup.precision);
  f.parameters = parameters;
  f.setup = setup;
  size_memory(model, f);
  bound_prefill(model, limits, f);
  for (int64_t batch : setup.batches) f.decode.push_back(decode_step(model, f, batch, limits));
  add_notes(model, limits, f);
  return f;
}

}  // namespace ridge::llm
