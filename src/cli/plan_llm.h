// ridge plan config.json | --llm …: sizing of a language model from its dimensions. One form of `ridge plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ridge::cli {

struct LlmOptions {
  std::string flags;               // dimensions in place of a file
  std::optional<int64_t> context;  // [tokens] per sequence
  std::optional<int64_t> prompt;   // [tokens] of them before the first answer
  std::string weights;             // form of the weights; empty: as --precision, of an ONNX file as stored
  std::string kv;                  // form of the cache; empty: fp16, of an ONNX file as its inputs
  std::optional<double> reserve_percent;
};
void declare(CLI::App& app, LlmOptions& options);

struct PlanOptions;
struct PlanRequest;

// Whether the options ask for this form: dimensions, a .json file, or an option that only this form has.
bool is_llm(const PlanOptions& options);
int plan_llm(const PlanRequest& request);

}  // namespace ridge::cli
