#include "app/describe_language.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/decoder_model.h"
#include "checkpoint/decoder_config.h"
#include "checkpoint/documents.h"
#include "checkpoint/graph_folder.h"
#include "checkpoint/weights.h"
#include "engine/weight_form.h"
#include "llm/model.h"
#include "serve/language_files.h"

namespace ridge::app {
namespace {

namespace fs = std::filesystem;

void add_dimensions(const llm::Model& model, LanguageDescription& description) {
  constexpr double kCacheBits = 16;
  const llm::Parameters parameters = llm::parameters_of(model);
  const llm::Attention& attention = model.layers.front().attention;
  description.layers = model.layer_count();
  description.hidden = model.hidden;
  description.vocabulary = model.vocabulary;
  description.heads = attention.heads;
  description.kv_heads = attention.kv_heads;
  description.head_dim = attention.head_dim;
  description.context = model.context;
  description.parameters = parameters.total;
  description.active_parameters = parameters.active;
  description.cache_bytes_per_token = llm::cache_bytes_per_token(model, kCacheBits);
  description.notes = model.notes;
}

void add_files(const std::string& path, LanguageDescription& description) {
  const bool gguf = checkpoint::is_gguf(path), graph = !gguf && checkpoint::is_graph_folder(path);
  const std::string extension = gguf ? ".gguf" : graph ? ".bin" : ".safetensors";
  std::error_code error;
  if (gguf) description.weight_bytes = static_cast<int64_t>(fs::file_size(path, error));
  for (fs::directory_iterator entry(path, error); !gguf && !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (entry->path().extension() == extension) description.weight_bytes += static_cast<int64_t>(entry->file_size());
  description.format = description.weight_bytes == 0 ? "config" : gguf ? "GGUF" : graph ? "OpenVINO IR" : "safetensors";
}

void add_forms(const std::string& path, LanguageDescription& description) {
  const Result<checkpoint::DecoderConfig> decoder = checkpoint::read_decoder_config(path);
  if (!decoder) description.not_served = decoder.error().message;
  if (description.format == "config") description.not_served = "there are no weights beside its config.json";
  if (!description.not_served.empty()) return;
  for (engine::WeightFormat form : engine::weight_forms())
    if (engine::form_of(path, form)) description.forms.emplace_back(name_of(names_of(form), form));
}

void add_chat(const std::string& path, LanguageDescription& description) {
  const Result<serve::LanguageFiles> files = serve::read_language_files(path, false);
  const Error* why = !files ? &files.error() : !files->writes_chat ? &files->writes_chat.error() : nullptr;
  description.chats = why == nullptr;
  if (why != nullptr) description.no_chat = why->message;
}

}  // namespace

Result<LanguageDescription> describe_language(const std::string& given, const std::string& path) {
  const std::string checkpoint = checkpoint_folder(path);
  RIDGE_ASSIGN(const llm::Model model, read_decoder_model(checkpoint));
  RIDGE_ASSIGN(const checkpoint::ModelDocuments documents, checkpoint::model_documents(checkpoint));
  LanguageDescription description;
  description.model = given;
  description.kind = documents.config->value("model_type", "");
  add_dimensions(model, description);
  add_files(checkpoint, description);
  add_forms(checkpoint, description);
  add_chat(checkpoint, description);
  return description;
}

}  // namespace ridge::app
