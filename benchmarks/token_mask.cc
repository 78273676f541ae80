// What response_format costs: to make the tree of a vocabulary of 150 000 tokens, to compile a schema, and to make the mask of each token of a document.
//
//   token_mask [ROUNDS]
//
// No tokenizer is at hand without a network, so that the vocabulary is made: words with and without a space before them, capitals, Chinese characters and
// words, digits, white space, code's punctuation, among them 1 500 tokens with a quote (Qwen2's vocabulary of 151 643 has 1 400). Documents are split by the
// longest token that fits, as BPE roughly does. Times are of the thread's CPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "text/token_mask.h"

namespace {

using namespace ridge;

constexpr size_t kVocabulary = 150'000;
constexpr int32_t kEnd = 0;

// CPU time of this thread: others may use the machine.
double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

class Vocabulary {
 public:
  Vocabulary() {
    tokens_.emplace_back();  // the end of text
    for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    for (int number = 0; number < 1000; ++number) add(std::to_string(number));
    for (int count = 2; count <= 80; ++count)
      for (const char* space : {" ", "\n", "\t", "\r\n"}) add(repeated(space, count));
    for (const char* piece :
         {"{\"",  "\":", "\": ",   "\": \"", "\": [", "\": {", "\",", "\", \"", "\"}", "\"},", "\"]",
          "\"],", ",\"", "\n  \"", "null",   "true",  "false", "[]",  "{}",     "[\"", "},{\""})
      add(piece);
    while (quoted_ < 1500) add_quoted();
    while (tokens_.size() < kVocabulary) add_word();
  }
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  int roll(int below) { return static_cast<int>(split_mix(++rolls_ * kGoldenGamma) % static_cast<uint64_t>(below)); }
  static std::string repeated(std::string_view text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  }
  void add(const std::string& token) {
    if (!seen_.insert(token).second) return;
    tokens_.push_back(token);
    quoted_ += token.find('"') != std::string::npos ? 1 : 0;
  }
  std::string word() {
    static constexpr const char* kSyllables[] = {"a",    "e",   "in", "on",  "er",  "st", "th",  "re",
                                                 "tion", "ing", "al", "com", "pro", "de", "con", "ment",
                                                 "ver",  "lo",  "ka", "mi",  "s",   "t",  "ra",  "un"};
    std::string text;
    for (int i = 1 + roll(4); i > 0; --i) text += kSyllables[roll(std::size(kSyllables))];
    return text;
  }
  void add_quoted() {
    static constexpr const char* kBefore[] = {"", " ", "(", "[", "{", "=", ">", ",", ":", "\\", ".", "'"};
    static constexpr const char* kAfter[] = {"",  ")", "]",  "}",  ",",  ":",   ";", ">",
                                             ".", " ", "\n", "),", "};", "\">", "'", "/"};
    std::string text = std::string(kBefore[roll(std::size(kBefore))]) + "\"" + kAfter[roll(std::size(kAfter))] +
                       kAfter[roll(std::size(kAfter))];
    if (roll(2) == 0) text += word();
    add(text);
  }
  void add_word() {
    const int kind = roll(10);
    if (kind < 2) {  // U+4E00 … U+9FFF
      std::string text;
      for (int i = 1 + roll(3); i > 0; --i) {
        const int code = 0x4E00 + roll(0x5200);
        for (const int byte : {0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)})
          text += static_cast<char>(byte);
      }
      add(text);
    } else if (kind == 2) {
      static constexpr const char* kMarks[] = {"(", ")", "->", "::",   "</", ">", ";", "==", "_",
                                               "$", "#", "/*", "\n\n", "||", "…", "é", "ß"};
      add(std::string(kMarks[roll(std::size(kMarks))]) + word() + kMarks[roll(std::size(kMarks))]);
    } else {
      std::string text = word();
      if (roll(4) == 0) text[0] = static_cast<char>(text[0] - 'a' + 'A');
      add((roll(2) == 0 ? " " : "") + text);
    }
  }

  std::vector<std::string> tokens_;
  std::set<std::string> seen_;
  uint64_t rolls_ = 0;
  int quoted_ = 0;
};

// The longest token at each place.
std::vector<int32_t> tokens_of(const text::TokenTrie& trie, std::string_view document) {
  std::vector<int32_t> tokens;
  while (!document.empty()) {
    uint32_t node = text::TokenTrie::kRoot;
    int32_t token = text::TokenTrie::kNoToken;
    for (const char byte : document) {
      const auto children = trie.children(node);
      const auto child = std::find_if(children.begin(), children.end(),
                                      [&](const auto& other) { return other.byte == static_cast<uint8_t>(byte); });
      if (child == children.end()) break;
      if (child->token != text::TokenTrie::kNoToken) token = child->token;
      node = trie.number_of(*child);
    }
    tokens.push_back(token);
    document.remove_prefix(trie.bytes_of(token).size());
  }
  tokens.push_back(kEnd);
  return tokens;
}

struct Case {
  const char* name;
  const char* schema;
  const char* document;
};
constexpr Case kCases[] = {
    {"any object", "{}",
     R"({"name": "Ada Lovelace", "born": 1815, "works": ["notes on the engine", "letters"], "peer": {"name": "Charles", "known": true, "score": 0.75}, "end": null})"},
    {"person",
     R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},"email":{"type":"string"},
      "tags":{"type":"array","items":{"type":"string"}},"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},"zip":{"type":"string","minLength":5,"maxLength":5}},
      "required":["street","city"],"additionalProperties":false}},"required":["name","age"],"additionalProperties":false})",
     R"({"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "tags": ["first", "programmer", "countess"], "address": {"street": "St James's Square 12", "city": "London", "zip": "SW1Y4"}})"},
    {"calls",
     R"({"anyOf":[{"type":"object","properties":{"name":{"const":"search"},"arguments":{"type":"object","properties":{"query":{"type":"string","maxLength":200},"count":{"type":"integer"}},"required":["query"]}},"required":["name","arguments"]},
      {"type":"object","properties":{"name":{"const":"weather"},"arguments":{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]}},"required":["city"]}},"required":["name","arguments"]}]})",
     R"({"name": "search", "arguments": {"query": "continuous batching of language models on one server", "count": 10}})"},
    {"other keys",
     R"({"type":"object","properties":{"id":{"type":"integer"},"identity":{"type":"string"}},"required":["id"],"additionalProperties":{"type":"number"}})",
     R"({"id": 7, "identity": "seven", "ideal": 0.5, "weight of it": 12.25, "idle": 3})"},
};

void run(const Case& one, const std::shared_ptr<const text::TokenTrie>& trie, int rounds) {
  const Json schema = parse_json(one.schema, one.name).value();
  const double before = now_us();
  for (int i = 0; i < rounds; ++i) (void)text::JsonGrammar::of(schema).value();
  const double compile_us = (now_us() - before) / rounds;

  const text::TokenMask begin(text::JsonGrammar::of(schema).value(), trie, {kEnd});
  std::vector<double> masks, logits_too;
  std::vector<float> logits(kVocabulary);
  double accept_us = 0;
  for (int round = 0; round < rounds; ++round) {
    text::TokenMask mask = begin;
    for (const int32_t token : tokens_of(*trie, one.document)) {
      double start = now_us();
      const text::TokenSet set = mask.allowed();
      masks.push_back((now_us() - start));
      start = now_us();
      mask.mask(logits);
      logits_too.push_back((now_us() - start));
      start = now_us();
      if (!mask.accept(token)) {
        std::fprintf(stderr, "token_mask: %s: token %d '%s' was refused\n", one.name, token,
                     trie->bytes_of(token).c_str());
        std::exit(3);
      }
      accept_us += (now_us() - start);
    }
  }
  const auto mean = [](const std::vector<double>& all) {
    double sum = 0;
    for (const double value : all) sum += value;
    return sum / static_cast<double>(all.size());
  };
  std::sort(masks.begin(), masks.end());
  std::printf("%-12s %10.1f %8zu %10.1f %10.1f %10.1f %14.1f %10.2f\n", one.name, compile_us,
              masks.size() / static_cast<size_t>(rounds), mean(masks), masks[masks.size() / 2],
              masks[masks.size() * 99 / 100], mean(logits_too), accept_us / static_cast<double>(masks.size()));
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  const Vocabulary vocabulary;
  const double begin = now_us();
  const auto trie = std::make_shared<const text::TokenTrie>(vocabulary.tokens());
  std::printf("%zu tokens, tree made in %.0f ms\n", vocabulary.tokens().size(), (now_us() - begin) / 1000);
  std::printf("%-12s %10s %8s %10s %10s %10s %14s %10s\n", "schema", "compile us", "tokens", "mask us", "median", "p99",
              "with logits us", "accept us");
  for (const Case& one : kCases) run(one, trie, rounds);
  return 0;
}
