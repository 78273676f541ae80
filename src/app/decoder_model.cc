#include "app/decoder_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "engine/engines.h"
#include "llm/config.h"

namespace ridge::app {
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

}  // namespace ridge::app
