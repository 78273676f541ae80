// Any bytes are a GGUF file or an error; the tensors of a good one lie in it and have the size of their shape; what it
// says of a model is JSON or an error, and weights that fit it can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/gguf.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace checkpoint = ridge::checkpoint;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = checkpoint::read_gguf(bytes);
  if (!file) return 0;
  for (const auto& [name, tensor] : file->tensors) {
    if (checkpoint::stored_bytes(*tensor.type, tensor.shape) != tensor.data.size()) std::abort();
    if (tensor.data.data() < bytes.data() || tensor.data.data() + tensor.data.size() > bytes.data() + bytes.size())
      std::abort();
    std::vector<float> row(static_cast<size_t>(tensor.shape.back()));
    if (tensor.type->decode != nullptr)
      checkpoint::read_row(tensor, tensor.shape.size() == 2 ? tensor.shape[0] - 1 : 0, row);
  }
  if (const auto texts = checkpoint::gguf_texts(*file); texts && !ridge::parse_json(texts->tokenizer, "")) std::abort();
  const auto json = checkpoint::gguf_config(*file);
  if (!json) return 0;
  const auto config = checkpoint::decoder_config_of(*json, nullptr);
  if (config) (void)checkpoint::gguf_weights(*file, *config).ok();
  return 0;
}
