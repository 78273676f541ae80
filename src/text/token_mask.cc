#include "text/token_mask.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>

namespace ridge::text {
namespace {

// One mask: the tree of tokens and the automaton, walked together.
class TokenWalk {
 public:
  TokenWalk(const JsonState& state, const TokenTrie& trie, TokenSet& set)
      : machine_(state.machine()), trie_(trie), set_(set) {}

  void add_all(const std::vector<JsonBranch>& branches) {
    std::vector<JsonBranch> rest;
    for (const JsonBranch& branch : branches) {
      const TokenTrie::WithinQuotes* within = within_quotes(branch);
      if (within) {
        add_within_quotes(branch, *within);
      } else {
        rest.push_back(branch);
      }
    }
    if (!rest.empty()) walk(TokenTrie::kRoot, rest, bytes_of(rest));
  }

 private:
  const TokenTrie::WithinQuotes* within_quotes(const JsonBranch& branch) const {
    const JsonNode& node = machine_.node_of(branch);
    if (node.kind == JsonNode::kText) return trie_.within_quotes(branch.state);
    return node.kind == JsonNode::kBytes ? trie_.within_quotes(machine_.program().bytes.lexer_state(branch.state))
                                         : nullptr;
  }

  void add_within_quotes(const JsonBranch& branch, const TokenTrie::WithinQuotes& within) {
    const JsonNode& node = machine_.node_of(branch);
    const bool is_text = node.kind == JsonNode::kText;
    const uint32_t least = is_text ? node.a : 0, most = is_text ? node.b : kUnbounded;
    add_unended(within, most == kUnbounded ? most : most - branch.count);

    const size_t mark = machine_.mark();
    std::vector<JsonBranch> after;
    machine_.leave(branch, after);
    const ByteSet bytes = bytes_of(after);
    std::vector<uint32_t> taken;
    if (!is_text) find_taken_keys(branch.state, TokenTrie::kRoot, taken);
    for (const TokenTrie::WithinQuotes::End& end : within.ends) {
      const uint64_t count = uint64_t{branch.count} + end.characters;
      if (count < least || count > most || std::find(taken.begin(), taken.end(), end.node) != taken.end()) continue;
      trie_.add_tokens(trie_.node(end.node), set_);
      if (trie_.node(end.node).children > 0) walk(end.node, after, bytes);
    }
    machine_.release(mark);
  }

  void add_unended(const TokenTrie::WithinQuotes& within, uint32_t most) {
    const auto longer = within.longer_than(most);
    if (longer.size() > within.by_length.size() / 2) {
      for (const auto& [characters, token] : std::span(within.by_length).subspan(longer.size())) add_token(set_, token);
      return;
    }
    TokenSet fitting;
    const TokenSet* tokens = &within.tokens;
    if (!longer.empty()) {
      fitting = within.tokens;
      for (const auto& [characters, token] : longer) remove_token(fitting, token);
      tokens = &fitting;
    }
    for (size_t i = 0; i < set_.size(); ++i) set_[i] |= (*tokens)[i];
  }

  // Where a token would end a key that the object lists under its own rule.
  void find_taken_keys(uint32_t state, uint32_t from, std::vector<uint32_t>& taken) const {
    const ByteAutomaton& bytes = machine_.program().bytes;
    if (bytes.is_lexers(state)) return;
    const std::span<const TokenTrie::Node> children = trie_.children(from);
    for (const ByteAutomaton::Edge *edge = bytes.begin_edges(state), *end = bytes.end_edges(state); edge != end;
         ++edge) {
      const auto child = std::lower_bound(children.begin(), children.end(), edge->byte,
                                          [](const TokenTrie::Node& node, uint8_t byte) { return node.byte < byte; });
      if (child == children.end() || child->byte != edge->byte) continue;
      const uint32_t number = trie_.number_of(*child);
      if (edge->target == ByteAutomaton::kNoState) {
        taken.push_back(number);
      } else {
        find_taken_keys(edge->target, number, taken);
      }
    }
  }

  ByteSet bytes_of(const std::vector<JsonBranch>& branches) const {
    ByteSet bytes;
    for (const JsonBranch& branch : branches) bytes |= machine_.bytes(branch);
    return bytes;
  }

  void walk(uint32_t from, const std::vector<JsonBranch>& branches, const ByteSet& bytes) {
    if (levels_.empty()) levels_.emplace_back();
    levels_[0] = branches;
    visit(from, 0, bytes);
  }

  // `bytes`: of the branches of this level.
  void visit(uint32_t from, size_t level, const ByteSet& bytes) {
    if (levels_.size() == level + 1) levels_.emplace_back();
    const std::vector<JsonBranch>& here = levels_[level];
    std::vector<JsonBranch>& next = levels_[level + 1];
    const size_t mark = machine_.mark();
    for (const TokenTrie::Node& node : trie_.children(from)) {
      if (!bytes[node.byte]) continue;
      next.clear();
      for (const JsonBranch& branch : here) machine_.step(branch, node.byte, next);
      if (!next.empty()) {
        trie_.add_tokens(node, set_);
        if (node.children > 0) visit(trie_.number_of(node), level + 1, bytes_of(next));
      }
      machine_.release(mark);
    }
  }

  JsonMachine machine_;
  const TokenTrie& trie_;
  TokenSet& set_;
  std::deque<std::vector<JsonBranch>> levels_;  // by bytes of the token; none moves
};

}  // namespace

TokenMask::TokenMask(JsonGrammar grammar, std::shared_ptr<const TokenTrie> trie, std::vector<int32_t> ends)
    : state_(std::move(grammar)), trie_(std::move(trie)) {
  std::erase_if(ends, [&](int32_t token) { return token < 0 || token >= trie_->vocabulary(); });
  ends_ = std::make_shared<const std::vector<int32_t>>(std::move(ends));
}

TokenSet TokenMask::allowed() const {
  TokenSet set(trie_->words());
  if (!ended_) TokenWalk(state_, *trie_, set).add_all(state_.branches());
  for (const int32_t token : *ends_) {
    remove_token(set, token);
    if (may_end()) add_token(set, token);
  }
  return set;
}

bool TokenMask::mask(std::span<float> logits) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const TokenSet set = allowed();
  for (size_t begin = 0; begin < logits.size(); begin += 64) {
    const uint64_t word = begin / 64 < set.size() ? set[begin / 64] : 0;
    const size_t count = std::min<size_t>(64, logits.size() - begin);
    if (word == 0) {  // as most are where the document's structure comes next
      std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(begin), count, kNever);
      continue;
    }
    for (uint64_t barred = ~word; barred != 0; barred &= barred - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(barred));
      if (bit >= count) break;
      logits[begin + bit] = kNever;
    }
  }
  return std::any_of(set.begin(), set.end(), [](uint64_t word) { return word != 0; });
}

bool TokenMask::accept(int32_t token) {
  if (std::find(ends_->begin(), ends_->end(), token) != ends_->end()) {
    if (!may_end()) return false;
    ended_ = true;
    return true;
  }
  if (ended_ || token < 0 || token >= trie_->vocabulary()) return false;
  const std::string& bytes = trie_->bytes_of(token);
  return !bytes.empty() && bytes.size() <= TokenTrie::kLongestToken && state_.accept(bytes);
}

}  // namespace ridge::text
