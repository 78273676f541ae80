// Describes a language model's checkpoint: dimensions, texts, and the forms in which ridge serves it. Prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace ridge::app {

struct LanguageDescription {
  std::string model;   // as given
  std::string kind;    // model_type
  std::string format;  // "safetensors", "GGUF", "OpenVINO IR"; "config": there are dimensions only
  int64_t layers = 0, hidden = 0, vocabulary = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // of the first layers
  int64_t context = 0;                            // longest; 0: not stated
  double parameters = 0, active_parameters = 0;   // active: used per token
  int64_t weight_bytes = 0;                       // of the files
  double cache_bytes_per_token = 0;               // in 16 bits
  bool chats = false;
  std::string no_chat;             // why not
  std::vector<std::string> forms;  // values of --weights that this program serves
  std::string not_served;          // why it has none
  std::vector<std::string> notes;  // assumptions on the dimensions
};
void visit_fields(auto& visit, Is<LanguageDescription> auto& description) {
  visit("model", description.model);
  visit("kind", description.kind);
  visit("format", description.format);
  visit("layers", description.layers);
  visit("hidden", description.hidden);
  visit("vocabulary", description.vocabulary);
  visit("heads", description.heads);
  visit("kv_heads", description.kv_heads);
  visit("head_dim", description.head_dim);
  visit("context", description.context);
  visit("params", description.parameters);
  visit("active_params", description.active_parameters);
  visit("weight_bytes", description.weight_bytes);
  visit("cache_bytes_per_token", description.cache_bytes_per_token);
  visit("chats", description.chats);
  visit("no_chat", description.no_chat);
  visit("forms", description.forms);
  visit("not_served", description.not_served);
  visit("notes", description.notes);
}

// `path`: a folder as Hugging Face has it, its config.json, or a GGUF file. Error: it does not hold a decoder.
Result<LanguageDescription> describe_language(const std::string& given, const std::string& path);

}  // namespace ridge::app
