// Grammar × vocabulary → which tokens may come next, so that what a model writes is a document of the grammar.
//
// A token is allowed where all its bytes are, wherever it crosses the end of a string, value or object. Tokens that end
// a text are allowed exactly where the document may end. Tokens of characters that may follow one another are known by
// the kinds of those; the rest is found by walking the tree of tokens and the states of the grammar together, once per
// state: sets are kept with the states, which sequences of one grammar share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/json_grammar.h"
#include "text/token_trie.h"

namespace ridge::text {

// The sets of a grammar, of at most about kMostBytes. One thread.
class TokenSets {
 public:
  static constexpr size_t kMostBytes = 32 << 20;
  // Limit for one set: tenths of a second where the unusual ones take milliseconds.
  static constexpr uint64_t kMostWork = 2'000'000;

  TokenSets(const JsonGrammar& grammar, std::shared_ptr<const TokenTrie> trie);

  const std::shared_ptr<JsonStates>& states() const { return states_; }
  const std::shared_ptr<const TokenTrie>& trie() const { return trie_; }
  // The tokens whose bytes may come at `place`, which moves to the states that are kept. kExhausted: it takes more work
  // than kMostWork, or `goes_on`, asked about every millisecond, says no; the message names the place in the schema.
  Result<std::shared_ptr<const TokenSet>> at(JsonState& place, const std::function<bool()>& goes_on);
  // Tokens of at most `most` characters, of these kinds.
  const TokenTrie::OfClass& of_class(const ByteSet& kinds, uint32_t most);
  void clear();
  size_t bytes() const {
    return states_->bytes() + (sets_.size() + 2 * class_count_) * (trie_->words() * sizeof(uint64_t) + 64);
  }

 private:
  std::shared_ptr<const TokenTrie> trie_;
  std::shared_ptr<JsonStates> states_;
  std::unordered_map<uint32_t, std::shared_ptr<const TokenSet>> sets_;           // by state
  std::unordered_map<ByteSet, std::map<uint32_t, TokenTrie::OfClass>> classes_;  // by kinds, then length
  size_t class_count_ = 0;
};

// Mask of one sequence. Copied cheaply; one thread, but for mask() between find() and accept().
class TokenMask {
 public:
  // `ends`: tokens that end a text; those of them that the vocabulary lacks are ignored.
  TokenMask(std::shared_ptr<TokenSets> sets, std::vector<int32_t> ends);
  TokenMask(const JsonGrammar& grammar, std::shared_ptr<const TokenTrie> trie, std::vector<int32_t> ends)
      : TokenMask(std::make_shared<TokenSets>(grammar, std::move(trie)), std::move(ends)) {}

  // Finds what may come next; as TokenSets::at().
  Status find(const std::function<bool()>& goes_on = {});
  // find() comes before these two.
  TokenSet allowed() const;
  // Sets what may not come next to −∞. False: no token may come, as the vocabulary cannot spell what must follow; or
  // the document is whole and there are no `ends`.
  bool mask(std::span<float> logits) const;
  // False: the token was not allowed, and nothing has changed.
  bool accept(int32_t token);
  TokenSets& sets() { return *sets_; }
  // Lets states go that its sets have left.
  void settle() { place_.move_to(sets_->states()); }
  // The document may end here.
  bool may_end() const { return may_end_; }
  bool ended() const { return ended_; }  // a token that ends a text was accepted

 private:
  std::shared_ptr<TokenSets> sets_;
  std::shared_ptr<const TokenTrie> trie_;
  JsonState place_;
  std::shared_ptr<const std::vector<int32_t>> ends_;
  std::shared_ptr<const TokenSet> found_;
  bool ended_ = false, may_end_ = false;
};

}  // namespace ridge::text
