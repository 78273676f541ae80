#include "zoo/tokenizer_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "zoo/corpus.h"

namespace ridge::zoo {
namespace {

constexpr const char* kBegin = "<|startoftext|>";
constexpr const char* kPad = "<|endoftext|>";
constexpr const char* kMessageBegin = "<|im_start|>";
constexpr const char* kEnd = "<|im_end|>";
constexpr std::array<const char*, 4> kSpecial = {kBegin, kPad, kMessageBegin, kEnd};

// The vocabulary's last numbers: kSpecial, and unused tokens to fill it up, with the names of Llama 3's.
std::vector<std::string> special_tokens(size_t count) {
  std::vector<std::string> tokens(kSpecial.begin(), kSpecial.end());
  while (tokens.size() < count)
    tokens.push_back("<|reserved_special_token_" + std::to_string(tokens.size() - kSpecial.size()) + "|>");
  return tokens;
}

// Llama 3's, from its tokenizer.json.
constexpr const char* kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// GPT-2's characters for bytes: printable Latin-1 stands for itself, the others, in order, are U+0100 and up.
std::array<std::string, 256> byte_characters() {
  std::array<std::string, 256> characters;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const unsigned code = itself ? byte : next++;
    characters[byte] = code < 0x80
                           ? std::string(1, static_cast<char>(code))
                           : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  }
  return characters;
}

struct BytePairs {
  std::vector<std::string> tokens;       // the 256 bytes, then what the merges add
  std::vector<std::string_view> merges;  // "left right", in order of rank
};

// The first of those that ridge's texts gave (merges.txt), up to `most` tokens.
BytePairs byte_pairs(size_t most) {
  const std::array<std::string, 256> bytes = byte_characters();
  BytePairs pairs{.tokens = std::vector<std::string>(bytes.begin(), bytes.end()), .merges = {}};
  std::string_view rest = document("merges");
  for (size_t end = 0; !rest.empty() && pairs.tokens.size() < most; rest.remove_prefix(end + 1)) {
    end = rest.find('\n');
    const std::string_view merge = rest.substr(0, end);
    const size_t blank = merge.find(' ');
    pairs.merges.push_back(merge);
    pairs.tokens.push_back(std::string(merge.substr(0, blank)) += merge.substr(blank + 1));
  }
  return pairs;
}

Json special_token(const std::string& text, size_t number) {
  return {{"id", number},    {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json byte_level(bool trim_offsets) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", trim_offsets}, {"use_regex", false}};
}

// Every sequence begins with kBegin, unless special tokens are not wanted.
Json begin_of_text(int64_t begin) {
  const Json special = {{"SpecialToken", {{"id", kBegin}, {"type_id", 0}}}};
  const auto sequence = [](const char* id, int type) { return Json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({special, sequence("A", 0)})},
          {"pair", Json::array({special, sequence("A", 0), sequence("B", 1)})},
          {"special_tokens",
           {{kBegin, {{"id", kBegin}, {"ids", Json::array({begin})}, {"tokens", Json::array({kBegin})}}}}}};
}

Json model_of(const BytePairs& learnt) {
  Json vocabulary = Json::object();
  for (size_t i = 0; i < learnt.tokens.size(); ++i) vocabulary[learnt.tokens[i]] = i;
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", learnt.merges}};
}

Json tokenizer_of(const BytePairs& learnt, const std::vector<std::string>& special, int64_t begin) {
  Json added = Json::array();
  for (size_t i = 0; i < special.size(); ++i) added.push_back(special_token(special[i], learnt.tokens.size() + i));
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", kPattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level(true)})}}},
          {"post_processor", begin_of_text(begin)},
          {"decoder", byte_level(true)},
          {"model", model_of(learnt)}};
}

Json tokenizer_config(const std::vector<std::string>& special, size_t first_special) {
  Json added = Json::object();
  for (size_t i = 0; i < special.size(); ++i) {
    Json token = special_token(special[i], 0);
    token.erase("id");
    added[std::to_string(first_special + i)] = std::move(token);
  }
  return {{"added_tokens_decoder", std::move(added)},
          {"bos_token", kBegin},
          {"eos_token", kEnd},
          {"pad_token", kPad},
          {"unk_token", nullptr},
          {"clean_up_tokenization_spaces", false},
          {"model_input_names", {"input_ids", "attention_mask"}},
          {"tokenizer_class", "PreTrainedTokenizerFast"},
          {"chat_template", document("chat_template")}};
}

}  // namespace

TokenizerFiles tokenizer_files(size_t vocabulary) {
  const BytePairs learnt = byte_pairs(vocabulary - kSpecial.size());
  const std::vector<std::string> special = special_tokens(vocabulary - learnt.tokens.size());
  const auto number = [&](const char* text) {
    return static_cast<int64_t>(learnt.tokens.size()) +
           (std::find(special.begin(), special.end(), text) - special.begin());
  };
  TokenizerFiles files;
  files.special = {number(kBegin), number(kEnd), number(kPad)};
  files.tokenizer = dump_json(tokenizer_of(learnt, special, files.special.begin), true) + "\n";
  files.config = dump_json(tokenizer_config(special, learnt.tokens.size()), true) + "\n";
  return files;
}

}  // namespace ridge::zoo
