// Grammar × vocabulary → which tokens may come next, so that what a model writes is a document of the grammar.
//
// A token is allowed where all its bytes are, wherever it crosses the end of a string, value or object. Tokens that end a text are allowed exactly where
// the document may end. What may come within a string is known of the vocabulary beforehand; the rest is found by walking the tree of tokens and the
// automaton together, which few bytes pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/json_grammar.h"
#include "text/token_trie.h"

namespace ridge::text {

// Of one sequence. Copied cheaply (speculation, preemption); one thread.
class TokenMask {
 public:
  // `ends`: tokens that end a text; those of them that the vocabulary lacks are ignored.
  TokenMask(JsonGrammar grammar, std::shared_ptr<const TokenTrie> trie, std::vector<int32_t> ends);

  TokenSet allowed() const;
  // Sets what may not come next to −∞. False: no token may come, as the vocabulary cannot spell what must follow; or the document is whole and there are no `ends`.
  bool mask(std::span<float> logits) const;
  // False: the token was not allowed, and nothing has changed.
  bool accept(int32_t token);
  // The document may end here.
  bool may_end() const { return ended_ || state_.may_end(); }
  bool ended() const { return ended_; }  // a token that ends a text was accepted

 private:
  JsonState state_;
  std::shared_ptr<const TokenTrie> trie_;
  std::shared_ptr<const std::vector<int32_t>> ends_;
  bool ended_ = false;
};

}  // namespace ridge::text
