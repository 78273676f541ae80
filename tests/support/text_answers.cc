// text_answers [TOKENIZER.JSON]: answers questions about text, a line of JSON each, by a line of JSON: ridge's
// tokenizer and chat templates, for tests that hold them against the published libraries.
//   {"encode": "text", "special": true}      → {"tokens": [...]}
//   {"decode": [1, 2], "special": false}     → {"text": "...", "pieces": ["...", ...]}, the pieces of streaming it
//   {"template": "...", "variables": {...}}  → {"text": "..."}
// Errors: {"error": "..."}.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace {

using ridge::Json;
using ridge::Result;

Result<Json> answer(const std::optional<ridge::text::Tokenizer>& tokenizer, const Json& question) {
  if (question.contains("template")) {
    RIDGE_ASSIGN(const auto chat_template, ridge::text::ChatTemplate::parse(question["template"].get<std::string>()));
    RIDGE_ASSIGN(const std::string text, chat_template.render(question["variables"]));
    return Json{{"text", text}};
  }
  if (!tokenizer) return ridge::invalid("no tokenizer was given");
  const bool special = question["special"].get<bool>();
  if (question.contains("encode")) {
    RIDGE_ASSIGN(const auto tokens, tokenizer->encode(question["encode"].get<std::string>(), special));
    return Json{{"tokens", tokens}};
  }
  const auto tokens = question["decode"].get<std::vector<int32_t>>();
  ridge::text::Detokenizer stream(*tokenizer, special);
  Json pieces = Json::array();
  for (const int32_t token : tokens) pieces.push_back(stream.add(token));
  pieces.push_back(stream.end());
  return Json{{"text", tokenizer->decode(tokens, special)}, {"pieces", pieces}};
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<ridge::text::Tokenizer> tokenizer;
  if (argc > 1) {
    const auto json = ridge::read_file(argv[1]);
    auto parsed = json ? ridge::text::Tokenizer::parse(*json) : Result<ridge::text::Tokenizer>(json.error());
    if (!parsed) {
      std::cout << ridge::dump_json(Json{{"error", parsed.error().message}}) << std::endl;
      return 1;
    }
    tokenizer = std::move(*parsed);
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto answered = answer(tokenizer, *ridge::parse_json(line, "question"));
    std::cout << ridge::dump_json(answered ? *answered : Json{{"error", answered.error().message}}) << std::endl;
  }
}
