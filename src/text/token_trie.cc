#include "text/token_trie.h"

#include <algorithm>
#include <string_view>

#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr uint8_t kNoKind = 0xff;

// Calls visit(index, a character begins there, one is begun after it, kind, kind) of each byte, with the kinds that are
// known there.
template <typename F>
void for_each_kind(std::string_view bytes, F visit) {
  const JsonLexer& lexer = json_lexer();
  uint32_t state = lexer.text, characters = 0;
  size_t begin = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const bool begins = state == lexer.text;
    const uint32_t next = byte >= 0x80 ? lexer.next(state, byte) : begins ? lexer.text : JsonLexer::kNoState;
    uint8_t kind = kNoKind;
    if (begins) begin = i;
    if (next == JsonLexer::kNoState) {
      kind = kNoCharacter;
    } else if (begins) {
      kind = byte;
    } else if (next == lexer.text) {
      size_t at = begin;
      if (const uint8_t second = second_kind_of(next_code_point(bytes, at))) kind = second;
    }
    state = next == JsonLexer::kNoState ? lexer.text : next;
    visit(i, begins, state != lexer.text, kind, begins && ++characters == CharacterRun::kLongest + 1 ? kLate : kNoKind);
  }
}

void add_each(const std::vector<int32_t>& tokens, TokenSet& set) {
  for (const int32_t token : tokens) add_token(set, token);
}

}  // namespace

// A node below which nodes are being added.
struct TokenTrie::Open {
  uint32_t number = 0;
  Below below;
  ByteSet kinds = {};
  bool begins = false;
};

TokenTrie::TokenTrie(std::span<const std::string> tokens)
    : bytes_(tokens.begin(), tokens.end()), same_(tokens.size(), kNoToken) {
  for (int32_t token = 0; token < static_cast<int32_t>(bytes_.size()); ++token)
    if (!bytes_[token].empty() && bytes_[token].size() <= kLongestToken) sorted_.push_back(token);
  std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) { return bytes_[a] < bytes_[b]; });
  all_.resize(words());
  add_each(sorted_, all_);
  later_.fill(TokenSet(words()));
  below_.emplace_back();
  add_nodes();
  for (Kind& kind : kinds_) {
    kind.exits.shrink_to_fit();
    if (kind.tokens.size() > words() / 4) {
      kind.many.resize(words());
      add_each(kind.tokens, kind.many);
      kind.tokens.clear();
    }
    kind.tokens.shrink_to_fit();
  }
}

void TokenTrie::add_nodes() {
  nodes_.emplace_back();
  std::vector<Open> path(1);  // by depth, of the last token
  std::string_view last;
  const auto close_to = [&](size_t depth, size_t end_token) {
    for (; path.size() > depth + 1; path.pop_back()) {
      const Open& open = path.back();
      Below& before = path[path.size() - 2].below;
      before.kinds |= open.below.kinds | open.kinds;
      before.characters = std::max(before.characters, open.below.characters + (open.begins ? 1 : 0));
      close(open, static_cast<uint32_t>(end_token));
    }
  };
  for (size_t i = 0; i < sorted_.size(); ++i) {
    const int32_t token = sorted_[i];
    const std::string_view bytes = bytes_[token];
    const auto [differs, unused] = std::mismatch(last.begin(), last.end(), bytes.begin(), bytes.end());
    const auto shared = static_cast<size_t>(differs - last.begin());
    close_to(shared, i);
    uint32_t later = 0;
    for_each_kind(bytes, [&](size_t at, bool begins, bool within, uint8_t kind, uint8_t second) {
      if (at >= shared) {
        Open& open = path.emplace_back();
        open.number = static_cast<uint32_t>(nodes_.size());
        open.below.first_token = static_cast<uint32_t>(i);
        open.below.depth = static_cast<uint32_t>(at + 1);
        open.below.after_begun = within;
        open.begins = begins;
        nodes_.push_back({.byte = static_cast<uint8_t>(bytes[at])});
      }
      later += begins && at > 0 ? 1 : 0;
      for (const uint8_t each : {kind, second}) {
        if (each == kNoKind) continue;
        Kind& known = kinds_[each];
        if (at > 0 && (known.tokens.empty() || known.tokens.back() != token)) known.tokens.push_back(token);
        if (at < shared) continue;
        known.exits.push_back({path.back().number, static_cast<uint32_t>(at), token});
        path.back().kinds.set(each);
      }
    });
    for (size_t bit = 0; bit < later_.size(); ++bit)
      if (later >> bit & 1) add_token(later_[bit], token);
    Node& node = nodes_[path.back().number];
    node.several = node.token != kNoToken;
    same_[token] = node.token;
    node.token = token;
    last = bytes;
  }
  close_to(0, sorted_.size());
  close(path[0], static_cast<uint32_t>(sorted_.size()));
}

void TokenTrie::close(const Open& open, uint32_t end_token) {
  constexpr uint32_t kFew = 8;      // nodes: those are looked at one by one as quickly
  constexpr uint32_t kMany = 1024;  // tokens: about the number of words of a set
  Node& node = nodes_[open.number];
  node.end = static_cast<uint32_t>(nodes_.size());
  if (node.end <= open.number + kFew) return;
  node.below = static_cast<uint32_t>(below_.size());
  Below& below = below_.emplace_back(open.below);
  below.end_token = end_token;
  while (below.first_token < end_token && bytes_[sorted_[below.first_token]].size() == below.depth) ++below.first_token;
  if (end_token - below.first_token < kMany) return;
  TokenSet many(words());
  add_all_tokens(below, many);
  below.many = std::move(many);
}

void TokenTrie::add_tokens_of(const TokenSet& tokens, const Below& below, TokenSet& set) const {
  for (size_t i = 0; i < below.many.size(); ++i) set[i] |= below.many[i] & tokens[i];
  for (uint32_t i = below.first_token; i < below.end_token && below.many.empty(); ++i)
    if (has_token(tokens, sorted_[i])) add_token(set, sorted_[i]);
}

TokenTrie::OfClass TokenTrie::of_class(const ByteSet& kinds) const {
  OfClass made{.whole = TokenSet(words()), .rest = all_};
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds[i]) continue;
    for (const int32_t token : kinds_[i].tokens) remove_token(made.rest, token);
    for (size_t word = 0; word < kinds_[i].many.size(); ++word) made.rest[word] &= ~kinds_[i].many[word];
  }
  for_each_child(kRoot, [&](uint32_t child, const Node& node) {
    if ((node.byte & 0xc0) == 0x80 || !kinds[node.byte]) return;
    add_tokens(node, made.whole);
    if (const Below* all = below(child)) return add_all_tokens(*all, made.whole);
    for (uint32_t number = child + 1; number < node.end; ++number) add_tokens(nodes_[number], made.whole);
  });
  for (size_t word = 0; word < words(); ++word) made.whole[word] &= made.rest[word];
  return made;
}

TokenTrie::OfClass TokenTrie::shorter(OfClass tokens, uint32_t most) const {
  const auto shorten = [&](TokenSet& set, uint32_t later) {
    for (size_t word = 0; word < set.size(); ++word) {
      uint64_t more = 0, equal = ~uint64_t{0};
      for (size_t bit = later_.size(); bit-- > 0;) {
        const uint64_t ones = later_[bit][word];
        if (!(later >> bit & 1)) more |= equal & ones;
        equal &= (later >> bit & 1) ? ones : ~ones;
      }
      set[word] &= ~more;
    }
  };
  shorten(tokens.rest, most);
  shorten(tokens.whole, most - 1);
  return tokens;
}

std::span<const TokenTrie::Exit> TokenTrie::exits(uint8_t kind, uint32_t number) const {
  const auto begin = std::ranges::upper_bound(kinds_[kind].exits, number, {}, &Exit::node);
  const auto end = std::ranges::lower_bound(kinds_[kind].exits, nodes_[number].end, {}, &Exit::node);
  return {begin, end};
}

}  // namespace ridge::text
