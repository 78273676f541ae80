#include "checkpoint/architectures.h"

#include <algorithm>

namespace ridge::checkpoint {
namespace {

using enum Trait;

constexpr Architecture kArchitectures[] = {
    {.type = "llama", .traits = kServed | kInterleavedGguf, .gguf = "llama"},
    {.type = "mistral", .traits = kNoOutputBias | kServed},
    {.type = "mixtral"},
    {.type = "ministral"},
    {.type = "qwen2", .traits = kQkvBias | kWindowOff | kNoOutputBias | kServed, .gguf = "qwen2"},
    {.type = "qwen2_moe", .traits = kQkvBias | kWindowOff | kNoOutputBias | kSharedGate},
    {.type = "seed_oss", .traits = kNoOutputBias | kServed},
    {.type = "qwen2_vl", .traits = kQkvBias | kWindowOff | kNoOutputBias},
    {.type = "qwen2_vl_text", .traits = kQkvBias | kWindowOff | kNoOutputBias},
    {.type = "qwen2_5_vl", .traits = kQkvBias | kWindowOff | kNoOutputBias},
    {.type = "qwen2_5_vl_text", .traits = kQkvBias | kWindowOff | kNoOutputBias},
    {.type = "qwen3", .traits = kQkNorm | kWindowOff | kServed, .gguf = "qwen3"},
    {.type = "qwen3_moe", .traits = kQkNorm | kWindowOff},
    {.type = "qwen3_vl_text", .traits = kQkNorm | kWindowOff},
    {.type = "qwen3_vl_moe_text", .traits = kQkNorm | kWindowOff},
    {.type = "qwen3_next", .traits = kQkNorm | kSharedGate | kOutputGate},
    {.type = "qwen3_5_text", .traits = kQkNorm | kOutputGate},
    {.type = "qwen3_5_moe_text", .traits = kQkNorm | kSharedGate | kOutputGate},
    {.type = "gemma", .traits = kTied},
    {.type = "gemma2", .traits = kTied | kFourNorms, .window_pattern = 2},
    {.type = "gemma3_text", .traits = kTied | kFourNorms | kQkNorm, .window_pattern = 6},
    {.type = "phi", .traits = kPlain | kBiases | kOneNorm | kHeadBias},
    {.type = "phi3"},
    {.type = "phimoe", .traits = kNormBias | kHeadBias},
    {.type = "granite"},
    {.type = "granitemoe"},
    {.type = "arcee", .traits = kPlain},
    {.type = "nemotron", .traits = kPlain | kNormBias},
    {.type = "stablelm", .traits = kNormBias | kSharedNorm | kOwnHeadNorms},
    {.type = "exaone4", .traits = kQkNorm, .window_pattern = 4},
    {.type = "hunyuan_v1_dense", .traits = kQkNorm},
    {.type = "ernie4_5", .traits = kTied},
    {.type = "ernie4_5_moe", .traits = kTied | kRouterBias},
    {.type = "dbrx"},
    {.type = "smollm3"},
    {.type = "cohere", .traits = kTied | kOneNorm},
    {.type = "cohere2", .traits = kTied | kOneNorm, .window_pattern = 4},
    {.type = "olmo2", .traits = kQkNormWide},
    {.type = "olmoe", .traits = kQkNormWide},
    {.type = "gpt_oss", .traits = kExpertBias | kSinks},
    {.type = "glm", .traits = kNoOutputBias},
    {.type = "glm4", .traits = kFourNorms | kNoOutputBias},
    {.type = "dots1", .traits = kQkNorm | kRouterBias},
    {.type = "glm4_moe", .traits = kRouterBias | kNoOutputBias},
    {.type = "glm_moe_dsa", .traits = kRouterBias},
    {.type = "minimax_m2", .traits = kQkNormWide | kRouterBias},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3", .traits = kRouterBias},
    {.type = "deepseek_v32", .traits = kRouterBias},
    {.type = "kimi_k2", .traits = kRouterBias},
    {.type = "llama4_text", .traits = kWideExperts, .window_pattern = 4},
    {.type = "gpt2", .traits = kPlain | kBiases | kLearnedPositions | kTied},
    {.type = "gpt_neox", .traits = kPlain | kBiases},
    {.type = "gpt_bigcode", .traits = kPlain | kBiases | kLearnedPositions | kTied | kMultiQuery},
    {.type = "gptj", .traits = kPlain | kMlpBias | kNormBias | kOneNorm | kHeadBias},
    {.type = "codegen", .traits = kPlain | kMlpBias | kNormBias | kOneNorm | kHeadBias},
    {.type = "opt", .traits = kPlain | kBiases | kLearnedPositions | kTied | kMorePositions},
    {.type = "bloom", .traits = kPlain | kBiases | kTied | kEmbeddingNorm},
    {.type = "mpt", .traits = kPlain | kTied},
    {.type = "falcon", .traits = kPlain | kNormBias | kTied | kMultiQuery | kSharedNorm | kSideBySide},
    {.type = "starcoder2", .traits = kPlain | kBiases | kTied},
};

template <typename Key>
const Architecture* found(std::string_view name, Key key) {
  const auto row = std::ranges::find(kArchitectures, name, key);
  return name.empty() || row == std::end(kArchitectures) ? nullptr : &*row;
}

template <typename Listed>
std::string listed(Listed name) {
  std::string text;
  for (const Architecture& row : kArchitectures)
    if (const std::string_view one = name(row); !one.empty()) text += (text.empty() ? "" : ", ") + std::string(one);
  return text;
}

}  // namespace

const Architecture* architecture_of(std::string_view type) { return found(type, &Architecture::type); }
const Architecture* gguf_architecture(std::string_view name) { return found(name, &Architecture::gguf); }

std::string served_types() {
  return listed([](const Architecture& row) { return row.has(kServed) ? row.type : std::string_view(); });
}
std::string gguf_types() {
  return listed([](const Architecture& row) { return row.gguf; });
}

}  // namespace ridge::checkpoint
