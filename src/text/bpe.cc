#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};
constexpr size_t kLongestCachedWord = 256, kCachedWords = 1024;  // [bytes], of each shelf

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

// A symbol for each character, or for each of its bytes; characters without any are unknown, or left out where no token says so. An unknown one
// waits until the next known character, as in the library: bytes overtake it.
std::vector<Bpe::Symbol> Bpe::symbols_of(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  const auto add = [&](int32_t token) { symbols.push_back({token, kNone, kNone}); };
  bool unknown_waits = false;
  std::string affixed;
  for (size_t at = 0; at < word.size();) {
    const size_t begin = at;
    next_code_point(word, at);
    std::string_view character = word.substr(begin, at - begin);
    if ((begin > 0 && !subword_prefix_.empty()) || (at == word.size() && !word_suffix_.empty())) {
      affixed = begin > 0 ? subword_prefix_ : "";
      affixed += character;
      if (at == word.size()) affixed += word_suffix_;
      character = affixed;
    }
    if (const auto token = vocabulary_.token_of(character)) {
      if (std::exchange(unknown_waits, false)) add(*unknown_);
      add(*token);
      continue;
    }
    const auto byte_token = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
    if (byte_fallback_ &&
        std::all_of(character.begin(), character.end(), [&](char byte) { return byte_token(byte) >= 0; })) {
      for (const char byte : character) add(byte_token(byte));
    } else if (unknown_) {
      if (unknown_waits && !fuse_unknown_) add(*unknown_);
      unknown_waits = true;
    }
  }
  if (unknown_waits) add(*unknown_);
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = i == 0 ? kNone : i - 1;
    symbols[i].next = i + 1 == symbols.size() ? kNone : i + 1;
  }
  return symbols;
}

void Bpe::merge(std::vector<Symbol>& symbols) const {
  std::vector<Candidate> room;
  room.reserve(2 * symbols.size());  // each merge ends one and adds at most two; what is not used is no memory
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue({}, std::move(room));
  const auto consider = [&](uint32_t left, uint32_t right) {
    if (const Rule* rule = rule_of(symbols[left].token, symbols[right].token))
      queue.push({rule->rank, left, rule->token});
  };
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) consider(i, i + 1);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.place];
    if (left.token < 0 || left.next == kNone) continue;
    Symbol& right = symbols[left.next];
    const Rule* rule = rule_of(left.token, right.token);
    if (!rule || rule->token != best.token) continue;  // one of the two has changed since
    left.token = best.token;
    right.token = -1;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.place;
    if (left.previous != kNone) consider(left.previous, best.place);
    if (left.next != kNone) consider(best.place, left.next);
  }
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& tokens) const {
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
  }
  std::vector<Symbol> symbols = symbols_of(word);
  merge(symbols);
  std::vector<int32_t> encoded;
  for (const Symbol& symbol : symbols)
    if (symbol.token >= 0) encoded.push_back(symbol.token);
  tokens.insert(tokens.end(), encoded.begin(), encoded.end());
  if (!cached) return;
  const MutexLock lock(shelf.mutex);
  if (shelf.words.size() < kCachedWords) shelf.words.emplace(word, std::move(encoded));
}

}  // namespace ridge::text
