#include "checkpoint/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/gguf_config.h"

namespace ridge::checkpoint {
namespace {

constexpr size_t kLongestPiece = 1024;  // [bytes] of a piece that is merged from others

// Numbers of token_type.
constexpr int64_t kControl = 3, kUserDefined = 4;

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Meaning of a value of tokenizer.ggml.pre: expressions that cut the text in turn, and the rest of its rule.
struct PreTokenizerRow {
  std::string_view names;  // in blanks
  std::array<std::string_view, 4> splits = {};
  bool whole_words = false;  // a word that is a token is taken as it is
  bool begin = false;        // of text, unless tokenizer.ggml.add_bos_token says otherwise
  bool composed = false;     // the published tokenizer.json composes characters first (NFC)
};
constexpr auto kPreTokenizers = std::to_array<PreTokenizerRow>({
    {.names = " default ", .splits = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
    {.names = " gpt-2 gpt2 phi-2 mpt olmo exaone4 ", .splits = {kGpt2}},
    {.names = " llama-bpe llama3 llama-v3 falcon3 ", .splits = {kLlama3}, .whole_words = true, .begin = true},
    {.names = " smaug-bpe dbrx ", .splits = {kLlama3}},
    {.names = " qwen2 deepseek-r1-qwen megrez ", .splits = {kQwen2}, .composed = true},
    {.names = " smollm starcoder refact ", .splits = {R"(\p{N})", kGpt2}},
    {.names = " tekken ", .splits = {kTekken}, .whole_words = true, .begin = true},
});

Error unsupported_tokenizer(std::string message) { return {Code::kUnsupported, std::move(message)}; }

std::string key_of(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

// The numbers or texts of an array of the metadata; empty: there is none.
template <typename T>
Result<std::vector<T>> list_of(const Gguf& file, std::string_view name, bool (Json::*is)() const noexcept) {
  std::vector<T> values;
  const auto found = file.metadata.find(key_of(name));
  if (found == file.metadata.end()) return values;
  if (!found->is_array() || !std::ranges::all_of(*found, [&](const Json& each) { return (each.*is)(); }))
    return invalid("metadata '" + key_of(name) + "' should be an array of another type");
  values.reserve(found->size());
  for (const Json& each : *found) values.push_back(each.get<T>());
  return values;
}

struct GgufVocabulary {
  std::vector<std::string> tokens;
  std::vector<int64_t> types;  // of each
  std::unordered_map<std::string_view, int64_t> numbers;
};

Result<GgufVocabulary> vocabulary_of(const Gguf& file) {
  GgufVocabulary vocabulary;
  RIDGE_ASSIGN(vocabulary.tokens, list_of<std::string>(file, "tokens", &Json::is_string));
  RIDGE_ASSIGN(vocabulary.types, list_of<int64_t>(file, "token_type", &Json::is_number_integer));
  if (vocabulary.tokens.empty()) return invalid("it has no tokens (tokenizer.ggml.tokens)");
  vocabulary.types.resize(vocabulary.tokens.size(), 1);
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i)
    if (!vocabulary.numbers.emplace(vocabulary.tokens[i], static_cast<int64_t>(i)).second)
      return invalid(fmt::format("token '{}' is in its vocabulary twice", vocabulary.tokens[i]));
  return vocabulary;
}

Json added_tokens_of(const GgufVocabulary& vocabulary) {
  Json added = Json::array();
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i)
    if (vocabulary.types[i] == kControl || vocabulary.types[i] == kUserDefined)
      added.push_back({{"id", i},
                       {"content", vocabulary.tokens[i]},
                       {"special", vocabulary.types[i] == kControl},
                       {"normalized", false}});
  return added;
}

Json numbers_of(const GgufVocabulary& vocabulary) {
  Json::object_t numbers;
  numbers.reserve(vocabulary.tokens.size());
  // Past the object's own way of adding, which looks through all that are there: the tokens differ.
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) numbers.Container::emplace_back(vocabulary.tokens[i], i);
  return numbers;
}

// Pieces that are two others together, the best score first.
Result<Json> merges_by_score(const Gguf& file, const GgufVocabulary& vocabulary) {
  RIDGE_ASSIGN(const std::vector<double> scores, list_of<double>(file, "scores", &Json::is_number));
  if (scores.size() != vocabulary.tokens.size())
    return invalid(fmt::format("it has {} scores for {} tokens", scores.size(), vocabulary.tokens.size()));
  struct Merge {
    std::tuple<double, size_t, size_t> rank;  // score, bytes of both parts
    int64_t left, right;
  };
  std::vector<Merge> merges;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string_view whole = vocabulary.tokens[i];
    const size_t first = merges.size();
    for (size_t at = 1; at < whole.size() && whole.size() <= kLongestPiece; ++at) {
      const auto left = vocabulary.numbers.find(whole.substr(0, at));
      if (left == vocabulary.numbers.end()) continue;
      const auto right = vocabulary.numbers.find(whole.substr(at));
      if (right != vocabulary.numbers.end())
        merges.push_back({{scores[i], at, whole.size() - at}, left->second, right->second});
    }
    std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
              [](const Merge& a, const Merge& b) { return std::pair(a.left, a.right) < std::pair(b.left, b.right); });
  }
  std::ranges::stable_sort(merges, std::greater(), &Merge::rank);
  Json::array_t pairs;
  pairs.reserve(merges.size());
  for (const Merge& merge : merges)
    pairs.push_back(Json::array(
        {vocabulary.tokens[static_cast<size_t>(merge.left)], vocabulary.tokens[static_cast<size_t>(merge.right)]}));
  return Json(std::move(pairs));
}

struct GgufTokenizer {
  Json document;  // tokenizer.json, without added tokens and what is put around a text
  bool begin = false;
};

Result<GgufTokenizer> byte_level_of(const Gguf& file, const GgufVocabulary& vocabulary) {
  RIDGE_ASSIGN(const std::string pre, json_member_or<std::string>(file.metadata, key_of("pre").c_str(), "default"));
  std::string known;
  const PreTokenizerRow* found = nullptr;
  for (const PreTokenizerRow& row : kPreTokenizers) {
    if (row.names.find(" " + pre + " ") != std::string_view::npos) found = &row;
    known += row.names.substr(1);
  }
  if (found == nullptr || pre.find(' ') != std::string::npos)
    return unsupported_tokenizer(fmt::format("its pre-tokenizer (tokenizer.ggml.pre) is '{}'; known: {}", pre, known));
  RIDGE_ASSIGN(const std::vector<std::string> merges, list_of<std::string>(file, "merges", &Json::is_string));
  Json steps = Json::array();
  for (const std::string_view split : found->splits)
    if (!split.empty()) steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", split}}}, {"behavior", "Isolated"}});
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  steps.push_back(level);
  Json document = {
      {"model",
       {{"type", "BPE"}, {"vocab", numbers_of(vocabulary)}, {"merges", merges}, {"ignore_merges", found->whole_words}}},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}},
      {"decoder", level}};
  if (found->composed) document["normalizer"] = {{"type", "NFC"}};
  return GgufTokenizer{std::move(document), found->begin};
}

Result<GgufTokenizer> by_score_of(const Gguf& file, const GgufVocabulary& vocabulary) {
  constexpr const char* kSpace = "\u2581";
  RIDGE_ASSIGN(const bool trims,
               json_member_or<bool>(file.metadata, key_of("remove_extra_whitespaces").c_str(), false));
  if (trims)
    return unsupported_tokenizer("its tokenizer removes white space (tokenizer.ggml.remove_extra_whitespaces)");
  RIDGE_ASSIGN(const bool prefix, json_member_or<bool>(file.metadata, key_of("add_space_prefix").c_str(), true));
  RIDGE_ASSIGN(const int64_t unknown, json_member_or<int64_t>(file.metadata, key_of("unknown_token_id").c_str(), 0));
  if (unknown < 0 || unknown >= static_cast<int64_t>(vocabulary.tokens.size()))
    return invalid(
        fmt::format("tokenizer.ggml.unknown_token_id is {}, and it has {} tokens", unknown, vocabulary.tokens.size()));
  RIDGE_ASSIGN(Json merges, merges_by_score(file, vocabulary));
  Json normal = Json::array(), decoders = Json::array();
  if (prefix) normal.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  normal.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}});
  decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}});
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return GgufTokenizer{{{"model",
                         {{"type", "BPE"},
                          {"vocab", numbers_of(vocabulary)},
                          {"merges", std::move(merges)},
                          {"unk_token", vocabulary.tokens[static_cast<size_t>(unknown)]},
                          {"fuse_unk", true},
                          {"byte_fallback", true}}},
                        {"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(normal)}}},
                        {"decoder", {{"type", "Sequence"}, {"decoders", std::move(decoders)}}}},
                       true};
}

struct TokenizerModel {
  std::string_view name;
  Result<GgufTokenizer> (*translate)(const Gguf& file, const GgufVocabulary& vocabulary);
};
constexpr TokenizerModel kTokenizerModels[] = {{"gpt2", byte_level_of}, {"llama", by_score_of}};

Result<GgufTokenizer> tokenizer_of(const Gguf& file, const GgufVocabulary& vocabulary) {
  RIDGE_ASSIGN(const std::string model, gguf_value<std::string>(file, key_of("model")));
  for (const TokenizerModel& row : kTokenizerModels)
    if (row.name == model) return row.translate(file, vocabulary);
  return unsupported_tokenizer(fmt::format("its tokenizer (tokenizer.ggml.model) is '{}'; known: gpt2, llama", model));
}

// Finds "bos" and "eos".
std::optional<size_t> special_of(const Gguf& file, const GgufVocabulary& vocabulary, const char* name) {
  const Result<int64_t> id = gguf_value<int64_t>(file, key_of(std::string(name) + "_token_id"));
  if (!id || *id < 0 || *id >= static_cast<int64_t>(vocabulary.tokens.size())) return std::nullopt;
  return static_cast<size_t>(*id);
}

}  // namespace

Result<TextDocuments> gguf_texts(const Gguf& file) {
  RIDGE_ASSIGN(const GgufVocabulary vocabulary, vocabulary_of(file));
  RIDGE_ASSIGN(GgufTokenizer tokenizer, tokenizer_of(file, vocabulary));
  TextDocuments documents;
  Json texts = Json::object();
  Json around = Json::array({{{"Sequence", {{"id", "A"}}}}}), specials = Json::object();
  struct End {
    const char *name, *text, *adds;
    bool adds_unless_said;
  };
  for (const End& end :
       {End{"bos", "bos_token", "add_bos_token", tokenizer.begin}, End{"eos", "eos_token", "add_eos_token", false}}) {
    const std::optional<size_t> token = special_of(file, vocabulary, end.name);
    RIDGE_ASSIGN(const bool adds,
                 json_member_or<bool>(file.metadata, key_of(end.adds).c_str(), end.adds_unless_said && token));
    if (token) texts[end.text] = vocabulary.tokens[*token];
    if (!adds) continue;
    if (!token) return invalid(fmt::format("{} wants a token that it does not name", key_of(end.adds)));
    specials[end.text] = {{"ids", {*token}}};
    around.insert(end.name == std::string_view("bos") ? around.begin() : around.end(),
                  Json{{"SpecialToken", {{"id", end.text}}}});
  }
  tokenizer.document["added_tokens"] = added_tokens_of(vocabulary);
  tokenizer.document["post_processor"] = {
      {"type", "TemplateProcessing"}, {"single", std::move(around)}, {"special_tokens", std::move(specials)}};
  documents.texts = std::make_shared<const Json>(std::move(texts));
  documents.tokenizer = dump_json(tokenizer.document);
  if (const Result<std::string> chat = gguf_value<std::string>(file, "tokenizer.chat_template"))
    documents.chat_template = *chat;
  return documents;
}

}  // namespace ridge::checkpoint
