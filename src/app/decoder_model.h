// What the verbs that run a language model's checkpoint know of it before it is opened: its dimensions, the engine, and the work of a step.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "engine/decoder.h"
#include "llm/model.h"
#include "machine/machine.h"

namespace ridge::app {

// From FOLDER/config.json. The error of what is no decoder says how it is exported.
Result<llm::Model> read_decoder_model(const std::string& folder);
// The engine that was named, else the first that has a decoder.
Result<std::string> decoder_engine(const std::string& named);
double free_bytes(const machine::Memory& memory);  // [bytes]

// FLOPs and bytes of steps, by llm/model.h. Pure.
class DecoderWork {
 public:
  struct Sequence {
    double flops = 0;
    double bytes = 0;  // of its cache that is read
  };
  // `model` outlives it.
  DecoderWork(const llm::Model& model, engine::WeightForm weights, engine::CacheForm cache);
  // Of `tokens` new tokens behind `cached` ones, of which `rows` get logits.
  Sequence of(double tokens, double cached, double rows) const;
  Precision arithmetic() const { return arithmetic_; }  // whose peak bounds a step

 private:
  const llm::Model& model_;
  Precision arithmetic_;
  double cache_bits_;
  double layer_flops_, row_flops_;  // of a token, and of its logits
};

}  // namespace ridge::app
