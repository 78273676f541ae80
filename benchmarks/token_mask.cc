// Measures response_format: the tree of a vocabulary of 150 000 tokens, a schema's compilation, and the mask of each
// token of a document.
//
//   token_mask [ROUNDS [TOKENS]]
//   token_mask --tokens
//
// The second form prints the vocabulary as TOKENS has it, for token_mask_peers.py.
//
// `first`: with states and sets found anew; `again`: a later request with the same schema. Without TOKENS, a file that
// has on each line the bytes of a token in hexadecimal, the vocabulary is made: words with and without a space before
// them, capitals, Chinese characters and words, digits, white space, code's punctuation, among them 1 500 tokens with a
// quote (Qwen2's vocabulary of 151 643 has 1 400). Documents are split by the longest token that fits, as BPE roughly
// does. Times are of the thread's CPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
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
      uint32_t next = text::TokenTrie::kRoot;
      trie.for_each_child(node, [&](uint32_t child, const text::TokenTrie::Node& other) {
        if (other.byte == static_cast<uint8_t>(byte)) next = child;
      });
      if (next == text::TokenTrie::kRoot) break;
      node = next;
      if (trie.node(node).token != text::TokenTrie::kNoToken) token = trie.node(node).token;
    }
    tokens.push_back(token);
    document.remove_prefix(trie.bytes_of(token).size());
  }
  tokens.push_back(kEnd);
  return tokens;
}

// Reads a file: each line has the bytes of a token in hexadecimal; an empty line is a token without bytes. The first
// stands for the end of text.
std::vector<std::string> read_tokens(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    std::string& token = tokens.emplace_back();
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      token += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  if (!tokens.empty()) tokens[kEnd].clear();
  return tokens;
}

struct Case {
  const char* name;
  const char* schema;
  const char* document;
};
constexpr Case kCases[] = {
    {"any object", "{}",
     R"({"name": "Ada Lovelace", "born": 1815, "works": ["notes on the engine", "letters"], )"
     R"("peer": {"name": "Charles", "known": true, "score": 0.75}, "end": null})"},
    {"person",
     R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
       "email":{"type":"string"},
      "tags":{"type":"array","items":{"type":"string"}},"address":{"type":"object","properties":
       {"street":{"type":"string"},"city":{"type":"string"},"zip":{"type":"string","minLength":5,"maxLength":5}},
      "required":["street","city"],"additionalProperties":false}},
       "required":["name","age"],"additionalProperties":false})",
     R"({"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "tags": ["first", "programmer", "countess"], )"
     R"("address": {"street": "St James's Square 12", "city": "London", "zip": "SW1Y4"}})"},
    {"calls",
     R"({"anyOf":[{"type":"object","properties":{"name":{"const":"search"},
       "arguments":{"type":"object","properties":{"query":{"type":"string","maxLength":200},"count":{"type":"integer"}},
       "required":["query"]}},"required":["name","arguments"]},
      {"type":"object","properties":{"name":{"const":"weather"},
       "arguments":{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]}},
       "required":["city"]}},"required":["name","arguments"]}]})",
     R"({"name": "search", "arguments": {"query": "continuous batching of language models on one server", )"
     R"("count": 10}})"},
    {"other keys",
     R"({"type":"object","properties":{"id":{"type":"integer"},"identity":{"type":"string"}},"required":["id"],)"
     R"("additionalProperties":{"type":"number"}})",
     R"({"id": 7, "identity": "seven", "ideal": 0.5, "weight of it": 12.25, "idle": 3})"},
    {"address", R"x({"type":"string","pattern":"^https?://.*$"})x",
     R"("https://example.org/a/longer/path/of-some-words?query=what+is+it&page=12#part")"},
    {"part", R"x({"type":"string","pattern":"x"})x", R"("some text before the letter x and some after it")"},
    {"e-mail", R"x({"type":"string","pattern":"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$"})x",
     R"("ada.lovelace+notes@analytical-engine.example.org")"},
    {"name of 32", R"x({"type":"string","pattern":"^[A-Za-z0-9 _.-]{1,32}$"})x",
     R"("a name of at most 32 letters 12")"},
    {"name of 63", R"x({"type":"string","pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"})x",
     R"("a-name-of-some-service-in-a-cluster-0")"},
    {"text of 200", R"x({"type":"string","pattern":"^.{1,200}$"})x",
     R"("Any text of at most 500 characters, as forms of the web have them.")"},
    {"words", R"x({"type":"string","pattern":"^[^\\s]+( [^\\s]+)*$"})x",
     R"("words, with one space between each two of them")"},
    {"date", R"x({"type":"object","properties":{"at":{"type":"string","format":"date-time"}},"required":["at"]})x",
     R"({"at": "2026-11-28T12:34:56.789+01:00"})"},
    {"phone", R"x({"type":"string","pattern":"^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$"})x", R"("(888)555-1212")"},
    {"15 patterns",
     R"x({"anyOf":[{"type":"string","pattern":"x{1}"},{"type":"string","pattern":"x{2}"},
       {"type":"string","pattern":"x{3}"},
      {"type":"string","pattern":"y{4}"},{"type":"string","pattern":"y{5}"},{"type":"string","pattern":"y{6}"},
       {"type":"string","pattern":"z{7}"},
      {"type":"string","pattern":"z{8}"},{"type":"string","pattern":"a0"},{"type":"string","pattern":"a1"},
       {"type":"string","pattern":"a2"},
      {"type":"string","pattern":"a3"},{"type":"string","pattern":"a4"},{"type":"string","pattern":"a5"},
       {"type":"string","pattern":"a6"}]})x",
     R"("some text with a3 and yyyyyyyy in it")"},
};

void run(const Case& one, const std::shared_ptr<const text::TokenTrie>& trie, int rounds) {
  const Json schema = parse_json(one.schema, one.name).value();
  const double before = now_us();
  for (int i = 0; i < rounds; ++i) (void)text::JsonGrammar::of(schema).value();
  const double compile_us = (now_us() - before) / rounds;

  const text::JsonGrammar grammar = text::JsonGrammar::of(schema).value();
  const std::vector<int32_t> tokens = tokens_of(*trie, one.document);
  std::vector<double> first, again;  // [us]
  std::vector<float> logits(static_cast<size_t>(trie->vocabulary()));
  double logits_us = 0, accept_us = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto sets = std::make_shared<text::TokenSets>(grammar, trie);
    for (std::vector<double>* times : {&first, &again}) {
      text::TokenMask mask(sets, {kEnd});
      for (const int32_t token : tokens) {
        double start = now_us();
        if (const Status found = mask.find(); !found.ok()) {
          std::fprintf(stderr, "token_mask: %s: %s\n", one.name, found.error().message.c_str());
          std::exit(3);
        }
        times->push_back(now_us() - start);
        start = now_us();
        mask.mask(logits);
        logits_us += now_us() - start;
        start = now_us();
        if (!mask.accept(token)) {
          std::fprintf(stderr, "token_mask: %s: token %d '%s' was refused\n", one.name, token,
                       trie->bytes_of(token).c_str());
          std::exit(3);
        }
        accept_us += now_us() - start;
      }
    }
  }
  std::printf("%-14s %10.0f %7zu", one.name, compile_us, tokens.size());
  for (std::vector<double>* times : {&first, &again}) {
    double sum = 0;
    for (const double time : *times) sum += time;
    std::sort(times->begin(), times->end());
    std::printf(" %8.1f %8.1f %8.1f", sum / static_cast<double>(times->size()), (*times)[times->size() * 99 / 100],
                times->back());
  }
  const auto masks = static_cast<double>(first.size() + again.size());
  std::printf(" %8.1f %8.2f\n", logits_us / masks, accept_us / masks);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "--tokens") {
    const Vocabulary vocabulary;
    for (const std::string& token : vocabulary.tokens()) {
      for (const char byte : token) std::printf("%02x", static_cast<unsigned char>(byte));
      std::printf("\n");
    }
    return 0;
  }
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  const std::vector<std::string> tokens = count > 2 ? read_tokens(arguments[2]) : Vocabulary().tokens();
  const double begin = now_us();
  const auto trie = std::make_shared<const text::TokenTrie>(tokens);
  std::printf("%zu tokens, tree made in %.0f ms\n", tokens.size(), (now_us() - begin) / 1000);
  std::printf("%-14s %10s %7s %26s %26s %8s %8s\n", "us", "compile", "tokens", "first: mean, p99, most",
              "again: mean, p99, most", "logits", "accept");
  for (const Case& one : kCases) run(one, trie, rounds);
  return 0;
}
