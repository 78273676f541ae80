#include "app/decoder_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/digest.h"
#include "base/file.h"
#include "checkpoint/config.h"
#include "checkpoint/documents.h"
#include "checkpoint/weights.h"
#include "engine/engines.h"
#include "llm/model.h"

namespace ridge::app {

Result<llm::Model> read_decoder_model(const std::string& folder) {
  RIDGE_ASSIGN(const checkpoint::ModelDocuments documents, checkpoint::model_documents(folder));
  Result<checkpoint::Config> config = checkpoint::config_from_json(*documents.config, documents.name);
  if (config) return std::move(config->model);
  return Error{config.error().code,
               fmt::format("{}; a model other than a decoder is exported first: optimum-cli export "
                           "onnx --model {} {}/onnx",
                           config.error().message, folder, folder)};
}

Result<std::string> decoder_engine(const std::string& named) {
  if (!named.empty()) return named;
  for (const engine::Engine& row : engine::known())
    if (row.open_decoder != nullptr && !row.for_tests) return std::string(row.name);
  return Error{Code::kUnsupported, "no engine of this program runs language models"};
}

std::string checkpoint_folder(const std::string& model) {
  const std::filesystem::path path(model);
  if (path.filename() != "config.json") return model;
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

std::string config_digest(const std::string& model) {
  if (!checkpoint::is_gguf(model))
    return digest_text(text_or_empty(model.ends_with(".json") ? model : model + "/config.json"));
  const Result<checkpoint::ModelDocuments> documents = checkpoint::model_documents(model);
  return digest_text(documents ? dump_json(*documents->config) : "");
}

double free_bytes(const machine::Memory& memory) {
  return static_cast<double>(std::min(memory.available_bytes, memory.limit_bytes.value_or(memory.available_bytes)));
}

}  // namespace ridge::app
