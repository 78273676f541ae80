// A language model on one device: memory, and the bounds of prefill and decode. Pure. What serving it takes, on several
// GPUs and with an engine's costs, says serving.h.
//
// Sources: FLOPs per token 2 · parameters + attention: Kaplan et al., 2020 (arXiv:2001.08361), section 2.1, table 1;
// cache per token 2 · layers · KV heads · head dimension · bytes: Kwon et al., 2023 (arXiv:2309.06180), section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/json.h"
#include "cost/costs.h"
#include "llm/model.h"

namespace ridge::llm {

// Storage of the weights. Below 16 bits only the layers' matrices are quantised; embedding, head and norms stay at 16,
// as in published FP8, GPTQ and AWQ checkpoints.
struct Storage {
  std::string name;
  double matrix_bits = 16, other_bits = 16;
};
inline constexpr std::string_view kAsStored = "as stored";  // name of a file's own form
inline Storage as_stored(double bits) {
  return {.name = std::string(kAsStored), .matrix_bits = bits, .other_bits = bits};
}
// fp32, bf16, fp16, fp8, int8, int4.
std::vector<Storage> storages();
Result<Storage> storage(std::string_view name);
double weight_bytes(const Parameters& parameters, const Storage& weights);

struct ForecastSetup {
  Storage weights;
  double kv_bits = 16;                     // [bits] of one value in the cache
  Precision precision = Precision::kFp16;  // of the arithmetic
  int64_t context = 4096;                  // [tokens] held by each sequence
  int64_t prompt = 1024;                   // [tokens] of them in the prompt
  std::vector<int64_t> batches = {1};      // sequences decoded together
  double memory_bytes = 0;                 // of the device; 0: not known
  double reserve = 0.1;                    // share of it reserved for activations, the engine and fragmentation
};

// One step that adds a token to each of `batch` sequences of `context` tokens.
struct DecodeStep {
  int64_t batch = 1;
  double bytes = 0;  // weights and cache read
  double flops = 0;
  cost::Bound bound;
  double tokens_per_s = 0;  // of all sequences together: upper limit
  bool fits = true;         // weights and the caches of `batch` full sequences
};
void visit_fields(auto& visit, Is<DecodeStep> auto& step) {
  visit("batch", step.batch, Figure().column("sequences"));
  visit("flops", step.flops);
  visit("bytes", step.bytes);
  visit_fields(visit, step.bound);
  visit("tokens_per_s", step.tokens_per_s,
        means("of all sequences together: upper limit").column("tokens/s, at most").in("tokens/s"));
  visit.derived("tokens_per_s_of_each", Derived{step.tokens_per_s / static_cast<double>(step.batch),
                                                Figure().column("tokens/s of each").in("tokens/s")});
  visit("fits", step.fits, means("weights and the caches of so many full sequences").column("fits"));
}

struct Forecast {
  std::string model, device;
  Origin origin = Origin::kMeasured;  // of the device's limits
  Parameters parameters;
  ForecastSetup setup;
  double weight_bytes = 0;
  double kv_bytes_per_token = 0;
  double kv_bytes_per_sequence = 0;
  double usable_bytes = 0;  // memory less the reserve
  bool fits = true;         // the weights and one sequence; true if the memory is unknown
  // Absent: the memory is not known.
  std::optional<int64_t> sequences = {};            // that fit at once
  std::optional<int64_t> devices_for_weights = {};  // minimum devices of this kind for the weights and one sequence
  double prefill_flops = 0;
  cost::Bound prefill;  // of one prompt: the least time to the first token
  double prefill_tokens_per_s = 0;
  std::vector<DecodeStep> decode;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<Forecast> auto& f) {
  visit("model", f.model);
  visit.object("device", [&](auto& device) {
    device("name", f.device);
    device("origin", f.origin);
    device.or_null("memory_bytes", f.setup.memory_bytes);
  });
  visit("precision", f.setup.precision);
  visit("weights", f.setup.weights.name, means("their form"));
  visit("kv_bits", f.setup.kv_bits, means("of one value in the cache"));
  visit("context", f.setup.context, means("tokens held by each sequence"));
  visit("reserve", f.setup.reserve, means("share of the memory"));
  visit("params", f.parameters.total);
  visit("active_params", f.parameters.active);
  visit.unless_empty("experts", f.parameters.expert_count, means("only where there are any"));
  visit("weight_bytes", f.weight_bytes);
  visit("kv_bytes_per_token", f.kv_bytes_per_token,
        means("2 · layers · KV heads · head dimension · bytes (up to the shortest window)"));
  visit("kv_bytes_per_sequence", f.kv_bytes_per_sequence);
  visit("usable_bytes", f.usable_bytes, means("memory less the reserve"));
  visit("fits", f.fits);
  visit("sequences", f.sequences, means("that fit at once; null: the memory is not known"));
  visit("devices_for_weights", f.devices_for_weights, means("of this kind, for the weights and one sequence"));
  visit.derived("time_to_first_token_bound_ms", f.prefill.ms);
  visit.object("prefill", [&](auto& prefill) {
    prefill("tokens", f.setup.prompt);
    prefill("flops", f.prefill_flops);
    prefill("tokens_per_s", f.prefill_tokens_per_s);
    visit_fields(prefill, f.prefill);
  });
  visit("decode", f.decode, means("a step that adds a token to each sequence"));
  visit("notes", f.notes);
}

// The same with the weights in another form.
struct FormForecast {
  std::string weights;
  double weight_bytes = 0;
  std::optional<int64_t> sequences = {};
  double decode_bound_ms = 0;  // of one sequence
};
void visit_fields(auto& visit, Is<FormForecast> auto& form) {
  visit("weights", form.weights, Figure().column("weights as"));
  visit("weight_bytes", form.weight_bytes, Figure().column("bytes"));
  visit("sequences", form.sequences, Figure().column("sequences"));
  visit("decode_bound_ms", form.decode_bound_ms, Figure().column("step of one, at least").within(above(0)));
  visit.derived("decode_tokens_per_s", Derived{form.decode_bound_ms > 0 ? 1e3 / form.decode_bound_ms : 0,
                                               Figure().column("tokens/s, at most").in("tokens/s")});
}

// Numbers of sequences worth showing where `most` fit: 1, 4, 16 … and `most`.
std::vector<int64_t> decode_batches(int64_t most);
// `parameters`: those of the model, or counted from its file.
Forecast forecast(const Model& model, const Parameters& parameters, const ForecastSetup& setup,
                  const cost::DeviceLimits& limits);

}  // namespace ridge::llm
