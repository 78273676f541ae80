// Texts by their characters (code points) as a deterministic automaton: what `pattern`, lengths and names of members
// allow, joined with one another or taken
// from one another. Not for bytes: character_table.h. Immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/regular_expression.h"

namespace ridge::text {

class CharacterAutomaton {
 public:
  static constexpr size_t kMostStates = 40'000;
  static constexpr size_t kMostWork = 5'000'000;  // steps: a tenth of a second

  struct Edge {
    char32_t first = 0, last = 0;
    uint32_t target = 0;
    bool operator==(const Edge&) const = default;
  };
  struct State {
    std::vector<Edge> edges;  // sorted, apart; those that meet have different targets
    bool accepts = false;
    // Reads `to` from `first` to `last`, which lie above what it reads so far. Surrogates are no characters.
    void add(char32_t first, char32_t last, uint32_t to);
    // Where a character leads; null: nowhere.
    const Edge* edge_at(char32_t character) const;
  };

  // Accepts texts of that many characters, whichever they are.
  static CharacterAutomaton of_lengths(uint32_t least, uint32_t most);
  static CharacterAutomaton of_texts(const std::vector<std::string>& texts);
  // Empty: it has more than kMostStates, or `work`, which counts the steps of all, gets above kMostWork.
  static std::optional<CharacterAutomaton> of(const RegularExpression& expression, size_t& work);
  // The texts of both, or of this but not of the other. Empty: as of().
  std::optional<CharacterAutomaton> with(const CharacterAutomaton& other, size_t& work) const {
    return product(other, false, work);
  }
  std::optional<CharacterAutomaton> without(const CharacterAutomaton& other, size_t& work) const {
    return product(other, true, work);
  }

  bool accepts(std::string_view text) const;
  // A text begins in the first state, and each state leads to one that accepts; empty: no text is accepted.
  const std::vector<State>& states() const { return states_; }
  bool empty() const { return states_.empty(); }

 private:
  std::optional<CharacterAutomaton> product(const CharacterAutomaton& other, bool without, size_t& work) const;
  void keep_what_ends();

  std::vector<State> states_;
};

}  // namespace ridge::text
