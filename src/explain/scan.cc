#include "explain/scan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "explain/pattern.h"
#include "explain/plain.h"

namespace ridge::explain {
namespace {

constexpr size_t kLongestIdentifier = 64;  // [bytes] the longest name of the catalogue has 52

struct Word {
  size_t at = 0;
  std::string_view text;
};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The next word from `at` on; empty at the end.
Word next_word(std::string_view text, size_t at) {
  while (at < text.size() && !in_word(text[at])) ++at;
  size_t end = at;
  while (end < text.size() && in_word(text[end])) ++end;
  return {at, text.substr(at, end - at)};
}

std::optional<int> number_in(std::string_view word) {
  int number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// Words between a family and its number.
bool connects(std::string_view word) {
  constexpr std::string_view kConnecting[] = {"error",  "errors", "err",    "code",     "failure", "failed",
                                              "status", "result", "return", "returned", "errno",   "number",
                                              "no",     "with",   "id",     "value",    "错误",    "错误码"};
  return std::find(std::begin(kConnecting), std::end(kConnecting), word) != std::end(kConnecting);
}

// A family's word in messages: "cuda", "cudaerror_t", "ncclresult".
std::optional<std::string_view> family_of(std::string_view word) {
  for (std::string_view family : kCodeFamilies)
    if (word == family) return family;
  if (word == "cudaerror" || word == "cudaerror_t" || word == "curesult") return "cuda";
  if (word == "ncclresult" || word == "ncclresult_t") return "nccl";
  if (word == "nvmlreturn" || word == "nvmlreturn_t") return "nvml";
  if (word == "xids") return "xid";
  return std::nullopt;
}

// The end of a PCI address in parentheses that begins at or shortly after `at`, as the driver prints between Xid and
// number.
size_t after_pci_address(std::string_view text, size_t at) {
  constexpr size_t kLongest = 40;
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos || open > at + 2) return at;
  const size_t close = text.substr(open, kLongest).find(')');
  return close == std::string_view::npos ? at : open + close + 1;
}

// The number that follows a family's word at `at`; the word itself ends there.
std::optional<Word> number_after(std::string_view text, size_t at, std::string_view family) {
  bool connected = family == "xid";
  if (connected) at = after_pci_address(text, at);
  constexpr int kMostConnecting = 3;
  for (int i = 0; i <= kMostConnecting; ++i) {
    const Word word = next_word(text, at);
    if (word.text.empty() || word.at > at + 3)
      return std::nullopt;  // ": ", " = ", "(" and the like, not a new sentence
    if (number_in(word.text)) {
      const size_t end = word.at + word.text.size();
      const bool version =
          end + 1 < text.size() && text[end] == '.' && std::isdigit(static_cast<unsigned char>(text[end + 1]));
      return connected && !version ? std::optional(word) : std::nullopt;
    }
    if (!connects(word.text)) return std::nullopt;
    connected = true;
    at = word.at + word.text.size();
  }
  return std::nullopt;
}

class Collector {
 public:
  explicit Collector(const Book& book) : book_(book) {}

  void add(size_t code, size_t at, std::string_view matched) {
    if (seen_.insert(code).second) found_.push_back({code, at, std::string(matched)});
  }

  void add_number(std::string_view family, int number, size_t at, std::string_view matched) {
    auto found = book_.code_numbers.find({std::string(family), number});
    if (found != book_.code_numbers.end()) add(found->second, at, matched);
  }

  std::vector<CodeMention> in_order() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const CodeMention& a, const CodeMention& b) { return a.at < b.at; });
    return std::move(found_);
  }

 private:
  const Book& book_;
  std::set<size_t> seen_;
  std::vector<CodeMention> found_;
};

void collect_words(const Book& book, std::string_view text, Collector& collector) {
  for (Word word = next_word(text, 0); !word.text.empty(); word = next_word(text, word.at + word.text.size())) {
    if (word.text.size() > kLongestIdentifier) continue;
    auto named = book.code_names.find(plain(word.text));
    if (named != book.code_names.end())
      for (size_t code : named->second) collector.add(code, word.at, word.text);
    const size_t end = word.at + word.text.size();
    if (auto family = family_of(word.text)) {
      if (auto number = number_after(text, end, *family)) {
        const size_t length = number->at + number->text.size() - word.at;
        collector.add_number(*family, *number_in(number->text), word.at, text.substr(word.at, length));
      }
    }
  }
}

}  // namespace

std::vector<CodeMention> codes_in(const Book& book, std::string_view text) {
  Collector collector(book);
  collect_words(book, text, collector);
  for (size_t i = 0; i < book.codes.size(); ++i) {
    for (const std::string& sentence : book.codes[i].texts)
      if (auto found = find_pattern(text, sentence)) collector.add(i, found->at, found->text);
  }
  return collector.in_order();
}

std::vector<CodeMention> codes_by_number(const Book& book, std::string_view query) {
  const std::string name = plain(query);
  Collector collector(book);
  const size_t digits = name.find_first_of("0123456789");
  if (digits == std::string::npos) return {};
  const auto number = number_in(std::string_view(name).substr(digits));
  if (!number) return {};
  std::string family = name.substr(0, digits);
  for (std::string_view suffix : {"code", "error", "err", "result", "status", "failure"})
    if (family.ends_with(suffix)) family.resize(family.size() - suffix.size());
  for (std::string_view each : kCodeFamilies)
    if (family.empty() || family == each) collector.add_number(each, *number, 0, query);
  return collector.in_order();
}

}  // namespace ridge::explain
