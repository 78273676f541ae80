#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr size_t kLongestCachedWord = 256, kCachedWords = 1024;  // [bytes], of each shelf
constexpr size_t kWindow = 8192;                                 // [symbols]; tokens have some hundred at most

struct Candidate {
  uint32_t rank, place;
  int32_t token;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : place > other.place; }
};

uint64_t pair_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}
// Fibonacci hashing: the upper bits of a product are mixed best.
size_t slot_of(uint64_t pair) { return static_cast<size_t>((pair * 0x9E3779B97F4A7C15ULL) >> 24); }

}  // namespace

Status Bpe::read(const JsonPart& model) {
  if (model.has("dropout")) {
    double dropout = 0;
    if (model.members().at_key("dropout").get(dropout) || dropout != 0)
      return Error{Code::kUnsupported, model.where() + ": a dropout other than 0 is not supported"};
  }
  RIDGE_ASSIGN(subword_prefix_, model.text_or("continuing_subword_prefix", ""));
  RIDGE_ASSIGN(word_suffix_, model.text_or("end_of_word_suffix", ""));
  RIDGE_ASSIGN(fuse_unknown_, model.boolean_or("fuse_unk", false));
  RIDGE_ASSIGN(byte_fallback_, model.boolean_or("byte_fallback", false));
  RIDGE_ASSIGN(ignore_merges_, model.boolean_or("ignore_merges", false));
  RIDGE_TRY(read_rules(model));
  if (model.has("unk_token")) {
    RIDGE_ASSIGN(const std::string_view unknown, model.text("unk_token"));
    RIDGE_ASSIGN(unknown_, vocabulary_.needed_token(unknown, model, "unk_token"));
  }
  for (size_t byte = 0; byte < 256; ++byte)
    byte_tokens_[byte] = vocabulary_.token_of(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  return ok_status();
}

Status Bpe::read_rules(const JsonPart& model) {
  RIDGE_ASSIGN(const simdjson::dom::array merges, model.array("merges"));
  // Not of the array's size(), which simdjson counts to 2^24 only.
  size_t count = 0;
  for ([[maybe_unused]] const simdjson::dom::element merge : merges) ++count;
  size_t slots = 2;
  while (slots < 2 * count + 2) slots *= 2;
  rules_.resize(slots);
  uint32_t rank = 0;
  for (const simdjson::dom::element merge : merges) {
    std::string_view text, left, right;
    simdjson::dom::array pair;
    if (!merge.get(text)) {
      if (text.starts_with("#version")) continue;
      const size_t space = text.find(' ');
      if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
    } else if (!merge.get(pair) && pair.size() == 2 && (pair.at(0).get(left) || pair.at(1).get(right))) {
      left = {};
    }
    if (left.empty() || right.empty())
      return invalid(fmt::format("{}.merges[{}] should be a pair of texts", model.where(), rank));
    RIDGE_TRY(add_rule(left, right, rank++, subword_prefix_.size()));
  }
  return ok_status();
}

Status Bpe::add_rule(std::string_view left, std::string_view right, uint32_t rank, size_t prefix) {
  const auto left_token = vocabulary_.token_of(left), right_token = vocabulary_.token_of(right);
  const auto whole =
      vocabulary_.token_of(std::string(left) + std::string(right.substr(std::min(prefix, right.size()))));
  if (!left_token || !right_token || !whole)
    return invalid(
        fmt::format("model.merges[{}]: '{}', '{}' or both together are not in the vocabulary", rank, left, right));
  put({pair_of(*left_token, *right_token), rank, *whole});
  return ok_status();
}

void Bpe::put(Rule rule) {
  size_t slot = slot_of(rule.pair) & (rules_.size() - 1);
  while (rules_[slot].pair != ~uint64_t{0} && rules_[slot].pair != rule.pair) slot = (slot + 1) & (rules_.size() - 1);
  rules_[slot] = rule;
}

const Bpe::Rule* Bpe::rule_of(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  for (size_t slot = slot_of(pair) & (rules_.size() - 1); rules_[slot].pair != ~uint64_t{0};
       slot = (slot + 1) & (rules_.size() - 1))
    if (rules_[slot].pair == pair) return &rules_[slot];
  return nullptr;
}

// Gives the symbols of a word, a stretch of them at a time: one for each character, or one for each of its bytes;
// characters without any are unknown, or left out where no token says so. An unknown one waits until the next known
// character, as in the library: bytes overtake it.
class Bpe::SymbolReader {
 public:
  SymbolReader(const Bpe& bpe, std::string_view word) : bpe_(bpe), word_(word) {}

  // Adds symbols until there are `wanted` of them, or a few more. False: the word has ended.
  bool fill(std::vector<int32_t>& symbols, size_t wanted) {
    while (at_ < word_.size() && symbols.size() < wanted) add_character(symbols);
    if (at_ < word_.size()) return true;
    if (std::exchange(unknown_waits_, false)) symbols.push_back(*bpe_.unknown_);
    return false;
  }

 private:
  void add_character(std::vector<int32_t>& symbols) {
    const size_t begin = at_;
    next_code_point(word_, at_);
    std::string_view character = word_.substr(begin, at_ - begin);
    if ((begin > 0 && !bpe_.subword_prefix_.empty()) || (at_ == word_.size() && !bpe_.word_suffix_.empty())) {
      affixed_ = begin > 0 ? bpe_.subword_prefix_ : "";
      affixed_ += character;
      if (at_ == word_.size()) affixed_ += bpe_.word_suffix_;
      character = affixed_;
    }
    if (const auto token = bpe_.vocabulary_.token_of(character)) {
      if (std::exchange(unknown_waits_, false)) symbols.push_back(*bpe_.unknown_);
      symbols.push_back(*token);
      return;
    }
    const auto byte_token = [&](char byte) { return bpe_.byte_tokens_[static_cast<unsigned char>(byte)]; };
    if (bpe_.byte_fallback_ && std::ranges::all_of(character, [&](char byte) { return byte_token(byte) >= 0; })) {
      for (const char byte : character) symbols.push_back(byte_token(byte));
    } else if (bpe_.unknown_) {
      if (unknown_waits_ && !bpe_.fuse_unknown_) symbols.push_back(*bpe_.unknown_);
      unknown_waits_ = true;
    }
  }

  const Bpe& bpe_;
  std::string_view word_;
  size_t at_ = 0;
  bool unknown_waits_ = false;
  std::string affixed_;
};

std::vector<Bpe::Symbol> Bpe::merge(std::span<const int32_t> tokens) const {
  const auto end = static_cast<uint32_t>(tokens.size());
  std::vector<Symbol> symbols(end);
  for (uint32_t i = 0; i < end; ++i) symbols[i] = {tokens[i], i - 1, i + 1};
  std::vector<Candidate> room;
  room.reserve(2 * symbols.size());  // each merge ends one and adds at most two; unused room costs no memory
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue({}, std::move(room));
  const auto consider = [&](uint32_t left, uint32_t right) {
    if (const Rule* rule = rule_of(symbols[left].token, symbols[right].token))
      queue.push({rule->rank, left, rule->token});
  };
  for (uint32_t i = 0; i + 1 < end; ++i) consider(i, i + 1);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.place];
    if (left.token < 0 || left.next == end) continue;
    Symbol& right = symbols[left.next];
    const Rule* rule = rule_of(left.token, right.token);
    if (!rule || rule->token != best.token) continue;  // one of the two has changed since
    left.token = best.token;
    right.token = -1;
    left.next = right.next;
    if (left.next != end) symbols[left.next].previous = best.place;
    if (best.place != 0) consider(left.previous, best.place);
    if (left.next != end) consider(best.place, left.next);
  }
  return symbols;
}

// Merges in windows, so that a long word needs little memory: the first three quarters of a window's tokens are given,
// and the last of these begins the next one. Tokens are those of the whole word if and only if each two neighbours,
// merged by themselves, stay those two: up to the first merge that crosses a border, both sides merge in the same order
// with and without what surrounds them. So a window that begins with the same token as the one before it ended proves
// the border. False: it does not, and a wider window is needed.
bool Bpe::encode_by_windows(size_t window, std::string_view word, std::vector<int32_t>& tokens, size_t most) const {
  SymbolReader reader(*this, word);
  std::vector<int32_t> read;
  for (size_t head = 0;;) {  // of the window: the symbols of the token that was given last
    const bool more = reader.fill(read, window);
    const std::vector<Symbol> symbols = merge(read);
    if (head > 0 && (symbols[0].token != tokens.back() || symbols[0].next != head)) return false;
    const size_t end = more ? read.size() / 4 * 3 : read.size();
    size_t last = 0, next = head;
    for (; next < end; next = symbols[next].next) {
      tokens.push_back(symbols[next].token);
      if (tokens.size() > most) return true;
      last = next;
    }
    if (!more) return true;
    if (next == head) return false;  // one token takes the window
    head = next - last;
    read.erase(read.begin(), read.begin() + static_cast<ptrdiff_t>(last));
  }
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& tokens, size_t most) const {
  if (ignore_merges_)
    if (const auto token = vocabulary_.token_of(word)) {
      tokens.push_back(*token);
      return;
    }
  const Shelf& shelf = shelves_[StringHash{}(word) % shelves_.size()];
  const bool cached = word.size() <= kLongestCachedWord;
  if (cached) {
    const MutexLock lock(shelf.mutex);
    if (const auto found = shelf.words.find(word); found != shelf.words.end()) {
      tokens.insert(tokens.end(), found->second.begin(), found->second.end());
      return;
    }
    most = SIZE_MAX;
  }
  const size_t before = tokens.size();
  for (size_t window = kWindow; !encode_by_windows(window, word, tokens, most); window *= 4) tokens.resize(before);
  if (!cached) return;
  const MutexLock lock(shelf.mutex);
  if (shelf.words.size() < kCachedWords)
    shelf.words.emplace(word, std::vector(tokens.begin() + static_cast<ptrdiff_t>(before), tokens.end()));
}

}  // namespace ridge::text
