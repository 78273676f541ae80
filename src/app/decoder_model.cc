#include "app/decoder_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "engine/engines.h"
#include "llm/config.h"

namespace ridge::app {
namespace {

// The arithmetic whose peak bounds a step: matrices of 8 and 4 bits are multiplied by activations of 8.
constexpr std::array<std::pair<engine::WeightForm, Precision>, 4> kArithmetic = {{
    {engine::WeightForm::kFp32, Precision::kFp32},
    {engine::WeightForm::kBf16, Precision::kBf16},
    {engine::WeightForm::kInt8, Precision::kInt8},
    {engine::WeightForm::kInt4, Precision::kInt8},
}};
constexpr std::array<std::pair<engine::CacheForm, double>, 3> kCacheBits = {{
    {engine::CacheForm::kFp32, 32},
    {engine::CacheForm::kBf16, 16},
    {engine::CacheForm::kU8, 8},
}};

template <typename Key, typename Value, size_t N>
Value value_of(const std::array<std::pair<Key, Value>, N>& table, Key key) {
  return std::ranges::find(table, key, &std::pair<Key, Value>::first)->second;
}

}  // namespace

Result<llm::Model> read_decoder_model(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  RIDGE_ASSIGN(const std::string text, read_file(file));
  RIDGE_ASSIGN(const Json json, parse_json(text, file));
  Result<llm::Config> config = llm::config_from_json(json, file);
  if (config) return std::move(config->model);
  return Error{config.error().code, fmt::format("{}; a model that is no decoder is exported first: optimum-cli export "
                                                "onnx --model {} {}/onnx",
                                                config.error().message, folder, folder)};
}

Result<std::string> decoder_engine(const std::string& named) {
  if (!named.empty()) return named;
  for (const engine::Engine& row : engine::known())
    if (row.open_decoder != nullptr && !row.for_tests) return std::string(row.name);
  return Error{Code::kUnsupported, "no engine of this program runs language models"};
}

double free_bytes(const machine::Memory& memory) {
  return static_cast<double>(std::min(memory.available_bytes, memory.limit_bytes.value_or(memory.available_bytes)));
}

DecoderWork::DecoderWork(const llm::Model& model, engine::WeightForm weights, engine::CacheForm cache)
    : model_(model), arithmetic_(value_of(kArithmetic, weights)), cache_bits_(value_of(kCacheBits, cache)) {
  const llm::Parameters p = llm::parameters_of(model);
  // Every matrix and vector of the layers is multiplied and added.
  layer_flops_ = 2 * (p.attention + p.feed_forward + p.router + p.experts_used + p.small);
  row_flops_ = 2 * p.head;
}

DecoderWork::Sequence DecoderWork::of(double tokens, double cached, double rows) const {
  return {tokens * layer_flops_ + rows * row_flops_ + llm::attention_flops(model_, tokens, cached),
          llm::cache_bytes(model_, cached, cache_bits_)};
}

}  // namespace ridge::app
