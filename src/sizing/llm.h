// Sizing of a decoder-only language model: memory, and the bounds of prefill and decode on one device. Pure. What serving it takes, on several GPUs
// and with an engine's costs, is predicted in llm/.
//
// Sources: FLOPs per token 2 · parameters + attention: Kaplan et al., 2020 (arXiv:2001.08361), section 2.1, table 1; cache per
// token 2 · layers · KV heads · head dimension · bytes: Kwon et al., 2023 (arXiv:2309.06180), section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cost/costs.h"
#include "llm/model.h"

namespace ridge::sizing {

// Number of weights.
struct LlmParameters {
  double embedding = 0;  // tables of tokens and positions; a token reads one row
  double head = 0;       // matrix to the vocabulary; a tied model shares the embedding's, which counts once in total
  double dense = 0;      // in the layers, used by every token
  double expert = 0;     // one expert of all layers
  double experts = 0;    // number of experts; 0: dense
  double experts_per_token = 0;
  double matrices = 0;  // the part of dense and experts stored in fewer bits by quantisation
  double total = 0;
  double active = 0;  // used per token
};

// Storage of the weights. Below 16 bits only the layers' matrices are quantised; embedding, head and norms stay at 16, as in
// published FP8, GPTQ and AWQ checkpoints.
struct WeightFormat {
  std::string_view name;
  double matrix_bits = 16;
  double other_bits = 16;
  std::string_view note = {};
};
inline constexpr std::string_view kAsStored = "as stored";  // name of a file's own form
inline WeightFormat as_stored(double bits) { return {.name = kAsStored, .matrix_bits = bits, .other_bits = bits}; }
// fp32, bf16, fp16, fp8, int8, int4.
Result<WeightFormat> weight_format(std::string_view name);
std::vector<WeightFormat> weight_formats();
double weight_bytes(const LlmParameters& parameters, const WeightFormat& format);

// The sizing inputs of a model, from a config or an ONNX decoder.
struct LlmModel {
  std::string name;
  LlmParameters parameters;
  double kv_values_per_token = 0;    // 2 · layers · KV heads · head dimension
  double attention_width = 0;        // layers · heads · head dimension: FLOPs per pair of tokens are 4 times this
  std::optional<llm::Model> layers;  // from a config: their caches and attention replace the two above
  int64_t context = 0;               // maximum; 0: not stated
  std::vector<std::string> notes;    // assumptions
};
LlmModel model_of(const llm::Model& model);

struct LlmSetup {
  WeightFormat weights;
  double kv_bits = 16;                     // [bits] of one value in the cache
  Precision precision = Precision::kFp16;  // of the arithmetic
  int64_t context = 4096;                  // [tokens] held by each sequence
  int64_t prompt = 1024;                   // [tokens] of them in the prompt
  std::vector<int64_t> batches = {1};      // sequences decoded together
  double memory_bytes = 0;                 // of the device; 0: not known
  double reserve = 0.1;                    // share of it reserved for activations, the engine and fragmentation
};

// One step that adds a token to each of `batch` sequences of `context` tokens.
struct LlmDecode {
  int64_t batch = 1;
  double bytes = 0;  // weights and cache read
  double flops = 0;
  cost::Bound bound;
  double tokens_per_s = 0;  // of all sequences together: upper limit
  bool fits = true;         // weights and the caches of `batch` full sequences
};
void visit_fields(auto& visit, Is<LlmDecode> auto& step) {
  visit("batch", step.batch);
  visit("flops", step.flops);
  visit("bytes", step.bytes);
  visit_fields(visit, step.bound);
  visit("tokens_per_s", step.tokens_per_s);
  visit("fits", step.fits);
}

struct LlmForecast {
  std::string model, device;
  Origin origin = Origin::kMeasured;  // of the device's limits
  LlmParameters parameters;
  LlmSetup setup;
  double weight_bytes = 0;
  double kv_bytes_per_token = 0;
  double kv_bytes_per_sequence = 0;
  double usable_bytes = 0;          // memory less the reserve
  bool fits = true;                 // the weights and one sequence; true if the memory is unknown
  int64_t sequences = 0;            // that fit at once
  int64_t devices_for_weights = 0;  // minimum devices of this kind for the weights and one sequence
  double prefill_flops = 0;
  cost::Bound prefill;  // of one prompt: the least time to the first token
  double prefill_tokens_per_s = 0;
  std::vector<LlmDecode> decode;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<LlmForecast> auto& f) {
  visit("model", f.model);
  visit.object("device", [&](auto& device) {
    device("name", f.device);
    device("origin", f.origin);
    device.or_null("memory_bytes", f.setup.memory_bytes);
  });
  visit("precision", f.setup.precision);
  visit.derived("weights", f.setup.weights.name);
  visit("kv_bits", f.setup.kv_bits);
  visit("context", f.setup.context);
  visit("reserve", f.setup.reserve);
  visit("params", f.parameters.total);
  visit("active_params", f.parameters.active);
  visit.unless_empty("experts", f.parameters.experts);
  visit("weight_bytes", f.weight_bytes);
  visit("kv_bytes_per_token", f.kv_bytes_per_token);
  visit("kv_bytes_per_sequence", f.kv_bytes_per_sequence);
  visit("usable_bytes", f.usable_bytes);
  visit("fits", f.fits);
  visit.derived("sequences", f.usable_bytes > 0 ? std::optional(f.sequences) : std::nullopt);
  visit.derived("devices_for_weights", f.usable_bytes > 0 ? std::optional(f.devices_for_weights) : std::nullopt);
  visit.derived("time_to_first_token_bound_ms", f.prefill.ms);
  visit.object("prefill", [&](auto& prefill) {
    prefill("tokens", f.setup.prompt);
    prefill("flops", f.prefill_flops);
    prefill("tokens_per_s", f.prefill_tokens_per_s);
    visit_fields(prefill, f.prefill);
  });
  visit("decode", f.decode);
  visit("notes", f.notes);
}
// Numbers of sequences worth showing where `most` fit: 1, 4, 16 … and `most`.
std::vector<int64_t> decode_batches(int64_t most);
LlmForecast forecast(const LlmModel& model, const LlmSetup& setup, const cost::DeviceLimits& limits);

}  // namespace ridge::sizing
