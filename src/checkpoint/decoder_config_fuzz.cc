// Any config.json, with a generation_config.json behind the first zero byte, is a decoder's configuration or an error.
// What the graph of a good one divides by and allocates stays within 64 bits, its tokens lie in the vocabulary, and its
// positions turn by finite angles.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "checkpoint/decoder_config.h"

namespace {

void check(bool right) {
  if (!right) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const auto json = ridge::parse_json(input.substr(0, zero), "config.json");
  if (!json) return 0;
  std::optional<ridge::Json> generation;
  if (zero != std::string_view::npos) {
    auto more = ridge::parse_json(input.substr(zero + 1), "generation_config.json");
    if (more) generation = std::move(*more);
  }
  const auto config = ridge::checkpoint::decoder_config_of(*json, generation ? &*generation : nullptr);
  if (!config) {
    check(!config.error().message.empty());
    return 0;
  }
  check(config->layers > 0 && config->kv_heads > 0 && config->heads % config->kv_heads == 0);
  check(config->head_dim > 0 && config->head_dim % 2 == 0);
  int64_t product = 0;
  check(!__builtin_mul_overflow(config->heads, config->head_dim, &product));
  check(!__builtin_mul_overflow(config->vocabulary, config->hidden, &product));
  if (config->bos) check(*config->bos >= 0 && *config->bos < config->vocabulary);
  for (const int64_t token : config->eos) check(token >= 0 && token < config->vocabulary);
  if (config->head_dim > 1024) return 0;
  for (const double frequency : ridge::checkpoint::rope_frequencies(config->rope, config->head_dim))
    check(std::isfinite(frequency));
  return 0;
}
