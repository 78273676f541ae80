#include "cli/synonyms.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

namespace ridge::cli {
namespace {

struct Synonym {
  std::string_view name;
  std::string_view own;  // an option, or the argument without one
};

// docs/cli/ridge.md lists them.
constexpr std::array<Synonym, 9> kSynonyms = {{{"--batch-size", "--batch"},
                                               {"--duration", "--seconds"},
                                               {"--host", "--http-address"},
                                               {"--iterations", "--trials"},
                                               {"--port", "--http-port"},
                                               {"--streams", "--instances"},
                                               {"--model", "MODEL"},
                                               {"--model", "DIR"},
                                               {"--onnx", "MODEL"}}};

struct Foreign {
  std::string_view name;
  std::string_view own;  // an option of the verbs that it concerns
  std::string_view instead;
};

constexpr std::string_view kOneCpuServer =
    "language models run on the CPUs of one machine; ridge size FOLDER --gpu NAME writes vLLM's command line for GPUs";

// Options of trtexec, perf_analyzer, vLLM and llama.cpp.
constexpr std::array<Foreign, 20> kForeign = {{
    {"--fp16", "--precision", "use --precision fp16"},
    {"--bf16", "--precision", "use --precision bf16"},
    {"--int8", "--precision", "use --precision int8"},
    {"--best", "--precision", "ridge tune tries engines and precisions"},
    {"--concurrency-range", "--concurrency", "use --concurrency 1..4:1, from 1 to 4"},
    {"--request-rate-range", "--rate", "use --rate 100..400:100, from 100 to 400 per second"},
    {"--measurement-interval", "--seconds", "use --seconds 5"},
    {"--api-key", "--keys", "use --keys FILE, whose lines are \"inference KEY\""},
    {"--max-model-len", "--keys", "it is the parameter ridge_context in config.pbtxt"},
    {"--ctx-size", "--keys", "it is the parameter ridge_context in config.pbtxt"},
    {"--max-num-seqs", "--keys", "it is the parameter ridge_sequences in config.pbtxt"},
    {"--max-num-batched-tokens", "--keys", "it is the parameter ridge_step_tokens in config.pbtxt"},
    {"--dtype", "--keys", "it is the parameter ridge_weights in config.pbtxt"},
    {"--quantization", "--keys", "it is the parameter ridge_weights in config.pbtxt"},
    {"--kv-cache-dtype", "--keys", "it is the parameter ridge_cache in config.pbtxt"},
    {"--served-model-name", "--keys", "it is the name of the model's folder"},
    {"--tensor-parallel-size", "--keys", kOneCpuServer},
    {"--pipeline-parallel-size", "--keys", kOneCpuServer},
    {"--gpu-memory-utilization", "--keys", kOneCpuServer},
    {"--n-gpu-layers", "--keys", kOneCpuServer},
}};

const Synonym* synonym_of(const CLI::App& app, const std::string& name) {
  if (app.get_option_no_throw(name) != nullptr) return nullptr;
  const auto found = std::find_if(kSynonyms.begin(), kSynonyms.end(), [&](const Synonym& row) {
    return row.name == name && app.get_option_no_throw(std::string(row.own)) != nullptr;
  });
  return found == kSynonyms.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> with_own_names(const CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> result;
  bool verbatim = false;
  for (const std::string& word : arguments) {
    const size_t equals = std::min(word.find('='), word.size());
    verbatim = verbatim || word == "--";
    const Synonym* synonym = verbatim || !word.starts_with("--") ? nullptr : synonym_of(app, word.substr(0, equals));
    if (synonym == nullptr)
      result.push_back(word);
    else if (synonym->own.starts_with('-'))
      result.push_back(std::string(synonym->own) + word.substr(equals));
    else if (equals < word.size())
      result.push_back(word.substr(equals + 1));
  }
  return result;
}

std::vector<std::string> synonyms_for(const CLI::App& app) {
  std::vector<std::string> names;
  for (const Synonym& row : kSynonyms)
    if (synonym_of(app, std::string(row.name)) != nullptr) names.emplace_back(row.name);
  return names;
}

std::string instead_of(const CLI::App& app, std::string_view name) {
  for (const Foreign& row : kForeign)
    if (row.name == name && app.get_option_no_throw(std::string(row.own)) != nullptr)
      return ": " + std::string(row.instead);
  return {};
}

}  // namespace ridge::cli
