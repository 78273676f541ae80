#include "checkpoint/documents.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_tokenizer.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/weights.h"

namespace ridge::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFile = "tokenizer.json";

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<SharedJson> read_object(const std::string& path) {
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(Json json, parse_json(text, path));
  if (!json.is_object()) return invalid(path + " is not a JSON object");
  return std::make_shared<const Json>(std::move(json));
}
Result<SharedJson> read_object_or_none(const std::string& path) {
  return is_there(path) ? read_object(path) : Result<SharedJson>(std::make_shared<const Json>(Json::object()));
}

template <typename Translate>
auto translated(const std::string& path, Translate translate) -> decltype(translate(std::declval<const Gguf&>())) {
  RIDGE_ASSIGN(const MappedFile mapped, MappedFile::open(path));
  Result<Gguf> file = read_gguf(mapped.bytes());
  if (!file) return wrap(std::move(file).error(), path);
  auto result = translate(*file);
  if (!result) return wrap(std::move(result).error(), path);
  return result;
}

double mean_bits(const Gguf& file) {
  double bits = 0, values = 0;
  for (const auto& [name, tensor] : file.tensors) {
    bits += 8 * static_cast<double>(tensor.data.size());
    values += static_cast<double>(element_count(tensor.shape).value_or(0));
  }
  return values > 0 ? bits / values : 0;
}

Error no_tokenizer(const std::string& folder) {
  std::string found;
  for (const char* other : {"tokenizer.model", "openvino_tokenizer.xml"})
    if (is_there(folder + "/" + other)) found = std::string("; found ") + other + ", which is another format";
  return {Code::kNotFound,
          folder + "/" + kTokenizerFile + " is missing" + found +
              ": write it with AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER) of transformers, or "
              "copy it from where the model is published"};
}

}  // namespace

Result<ModelDocuments> model_documents(const std::string& path) {
  ModelDocuments documents;
  if (is_gguf(path))
    return translated(path, [&](const Gguf& file) -> Result<ModelDocuments> {
      documents.name = path;
      RIDGE_ASSIGN(Json config, gguf_config(file));
      documents.config = std::make_shared<const Json>(std::move(config));
      documents.generation = std::make_shared<const Json>(Json::object());
      documents.weight_bits = mean_bits(file);
      return documents;
    });
  documents.name = path + "/config.json";
  RIDGE_ASSIGN(documents.config, read_object(documents.name));
  RIDGE_ASSIGN(documents.generation, read_object_or_none(path + "/generation_config.json"));
  return documents;
}

Result<TextDocuments> text_documents(const std::string& path) {
  if (is_gguf(path)) return translated(path, gguf_texts);
  TextDocuments documents;
  if (!is_there(path + "/" + kTokenizerFile)) return no_tokenizer(path);
  RIDGE_ASSIGN(documents.tokenizer, read_file(path + "/" + kTokenizerFile));
  RIDGE_ASSIGN(documents.texts, read_object_or_none(path + "/tokenizer_config.json"));
  if (const std::string file = path + "/chat_template.jinja"; is_there(file)) {
    RIDGE_ASSIGN(documents.chat_template, read_file(file));
  }
  return documents;
}

}  // namespace ridge::checkpoint
