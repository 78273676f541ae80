#include "serve/language_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "checkpoint/documents.h"

namespace ridge::serve {
namespace {

bool is_quote(char c) { return c == '"' || c == '\''; }

// A text, or an added token as an object.
std::string special_text(const Json& config, const char* key) {
  if (!config.contains(key)) return {};
  const Json& token = config[key];
  if (token.is_string()) return token.get<std::string>();
  return token.is_object() && token.contains("content") && token["content"].is_string()
             ? token["content"].get<std::string>()
             : std::string();
}

// A text, or several with names, of which the usual one is "default".
std::optional<std::string> template_text(const Json& config) {
  if (!config.contains("chat_template")) return std::nullopt;
  const Json& all = config["chat_template"];
  if (all.is_string()) return all.get<std::string>();
  if (!all.is_array()) return std::nullopt;
  for (const Json& one : all)
    if (one.is_object() && one.value("name", Json()) == "default" && one.contains("template") &&
        one["template"].is_string())
      return one["template"].get<std::string>();
  return std::nullopt;
}

Result<text::ChatTemplate> template_of(const std::optional<std::string>& text) {
  if (!text)
    return invalid(
        "the model has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); send "
        "a whole prompt to /v1/completions");
  Result<text::ChatTemplate> parsed = text::ChatTemplate::parse(*text);
  return parsed ? std::move(parsed) : invalid("the model's chat template is not understood: " + parsed.error().message);
}

Result<std::string> chat_of(const LanguageFiles& files, Json content) {
  return files.chat->render({{"messages", Json::array({{{"role", "user"}, {"content", std::move(content)}}})},
                             {"add_generation_prompt", true},
                             {"bos_token", files.begin_text},
                             {"eos_token", files.end_text}});
}

// Found by a trial: what a template has and this program has not may stand anywhere in it.
Status writes_chat(const LanguageFiles& files) {
  if (!files.chat) return files.chat.error();
  const Result<std::string> tried = chat_of(files, "a message");
  return tried ? Status() : wrap(tried.error(), "the model's chat template cannot write a chat of one message");
}

// True if the template writes the texts of parts, and not the list or an error. Found by a trial, which sees through
// macros and renamed variables.
bool reads_parts(const LanguageFiles& files) {
  constexpr std::array kTexts{"the first part", "another part"};
  Json parts = Json::array();
  for (const char* text : kTexts) parts.push_back({{"type", "text"}, {"text", text}});
  const Result<std::string> tried = chat_of(files, std::move(parts));
  return tried && std::ranges::all_of(kTexts, [&](std::string_view text) {
           const size_t at = tried->find(text), behind = at + text.size();
           return at != std::string::npos && (behind == tried->size() || !is_quote((*tried)[behind]));
         });
}

void add_numbers(const Json& config, std::vector<int32_t>& tokens) {
  if (!config.contains("eos_token_id")) return;
  const Json& ids = config["eos_token_id"];
  const auto add = [&](const Json& id) {
    if (id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= INT32_MAX)
      tokens.push_back(id.get<int32_t>());
  };
  if (ids.is_array())
    for (const Json& id : ids) add(id);
  else
    add(ids);
}

std::shared_ptr<const text::TokenTrie> trie_of(const text::Tokenizer& tokenizer) {
  std::vector<std::string> bytes(static_cast<size_t>(tokenizer.vocabulary()));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    if (!tokenizer.is_special(token)) bytes[i] = tokenizer.bytes_of(token);
  }
  return std::make_shared<const text::TokenTrie>(bytes);
}

struct RecommendedNumber {
  const char* name;
  double least, most;
  void (*set)(RecommendedSampling& recommended, double value);
};
// Recommendations that vLLM applies. Bounds are those of requests.
constexpr RecommendedNumber kRecommendedNumbers[] = {
    {"temperature", 0, 100, [](RecommendedSampling& r, double value) { r.sampling.temperature = value; }},
    {"top_p", 1e-9, 1, [](RecommendedSampling& r, double value) { r.sampling.top_p = value; }},
    {"top_k", -1, INT32_MAX,
     [](RecommendedSampling& r, double value) { r.sampling.top_k = std::max(0, static_cast<int>(value)); }},
    {"min_p", 0, 1, [](RecommendedSampling& r, double value) { r.sampling.min_p = value; }},
    {"repetition_penalty", 1e-9, 100,
     [](RecommendedSampling& r, double value) { r.sampling.repetition_penalty = value; }},
    {"max_new_tokens", 1, INT32_MAX,
     [](RecommendedSampling& r, double value) { r.most_tokens = static_cast<int64_t>(value); }},
};

Result<RecommendedSampling> recommended_of(const Json& generation, const std::string& folder) {
  RecommendedSampling recommended;
  for (const RecommendedNumber& number : kRecommendedNumbers) {
    const auto value = generation.find(number.name);
    if (value == generation.end() || value->is_null()) continue;
    if (!value->is_number() || value->get<double>() < number.least || value->get<double>() > number.most)
      return invalid(
          fmt::format("{}/generation_config.json: '{}' should be a number from {:g} to {:g}, found {}; correct it, or "
                      "set the parameter ridge_generation_config to 0",
                      folder, number.name, number.least, number.most, dump_json(*value).substr(0, 60)));
    number.set(recommended, value->get<double>());
  }
  return recommended;
}

}  // namespace

Result<LanguageFiles> read_language_files(const std::string& path, bool recommended) {
  RIDGE_ASSIGN(const checkpoint::TextDocuments documents, checkpoint::text_documents(path));
  RIDGE_ASSIGN(const checkpoint::ModelDocuments model, checkpoint::model_documents(path));
  Result<text::Tokenizer> tokenizer = text::Tokenizer::parse(documents.tokenizer);
  if (!tokenizer) return wrap(std::move(tokenizer).error(), path);
  std::shared_ptr<const text::TokenTrie> tokens = trie_of(*tokenizer);
  const std::optional<std::string> chat_template =
      documents.chat_template ? documents.chat_template : template_text(*documents.texts);
  LanguageFiles files{std::move(*tokenizer),
                      template_of(chat_template),
                      {},
                      false,
                      model.config->contains("ridge_make"),
                      text::answer_form_of(chat_template.value_or("")),
                      special_text(*documents.texts, "bos_token"),
                      special_text(*documents.texts, "eos_token"),
                      {},
                      std::move(tokens),
                      {}};
  files.writes_chat = writes_chat(files);
  files.reads_parts = files.chat && reads_parts(files);
  if (recommended) {
    RIDGE_ASSIGN(files.recommended, recommended_of(*model.generation, path));
  }
  std::vector<int32_t> stops;
  add_numbers(model.generation->contains("eos_token_id") ? *model.generation : *model.config, stops);
  if (const std::optional<int32_t> end = files.tokenizer.token_of(files.end_text); end && !files.end_text.empty())
    stops.push_back(*end);
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  files.stop_tokens = std::move(stops);
  return files;
}

}  // namespace ridge::serve
