// A checkpoint's documents in the form of Hugging Face's files: a folder's own, or a GGUF file's metadata translated.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace ridge::checkpoint {

using SharedJson = std::shared_ptr<const Json>;

struct ModelDocuments {
  std::string name;        // of the file that says most of it, for messages
  SharedJson config;       // config.json
  SharedJson generation;   // generation_config.json; an empty object: there is none
  double weight_bits = 0;  // of a value, mean of a GGUF file's tensors; 0: a folder
};

struct TextDocuments {
  std::string tokenizer;                     // tokenizer.json
  SharedJson texts;                          // tokenizer_config.json; an empty object: there is none
  std::optional<std::string> chat_template;  // chat_template.jinja
};

// `path`: a folder, or a GGUF file. Errors name the file, and what stands in for one that is missing.
Result<ModelDocuments> model_documents(const std::string& path);
Result<TextDocuments> text_documents(const std::string& path);

}  // namespace ridge::checkpoint
