// Encoder: how a version of a model turns texts into embeddings: its tokenizer, which tensors it takes and gives, and
// how its output becomes one vector. Made of files beside the model's; the version runs it as any model. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "serve/config_text.h"
#include "serve/model_settings.h"
#include "text/tokenizer.h"

namespace ridge::serve {

// kNone: the model's output is one vector per text.
enum class Pooling : uint8_t { kNone, kMean, kCls };

struct EncoderInput {
  enum class Kind : uint8_t { kTokens, kMask, kSegments };
  std::string name;
  Kind kind = Kind::kTokens;
  DataType type = DataType::kInt64;  // or kInt32
};

struct Encoder {
  std::string model;
  int64_t version = 0;
  int64_t created = 0;  // [s since 1970]
  text::Tokenizer tokenizer;
  std::vector<EncoderInput> inputs = {};  // each [rows, tokens]
  std::string output = {};                // [rows, width]; pooled: [rows, tokens, width]
  Pooling pooling = Pooling::kNone;
  int64_t fixed_length = 0;  // tokens of every row; 0: the length of the request's longest text
  int64_t most_tokens = 0;   // of a text; 0: not known
  int64_t most_rows = 1;     // of a request to the model
};
using EncoderPtr = std::shared_ptr<const Encoder>;

// The values of the parameter ridge_pooling.
Result<Pooling> pooling_from_name(const std::string& name);

// Completes `config`, from which `settings` are made. `folder` holds the model's file: tokenizer.json, and Hugging
// Face's and sentence-transformers' files about lengths and pooling. kNotFound: the tokenizer is missing. Other errors
// say what keeps the model from being an encoder.
Result<EncoderPtr> read_encoder(const inference::ModelConfig& config, const ModelSettings& settings,
                                const std::string& folder);

}  // namespace ridge::serve
