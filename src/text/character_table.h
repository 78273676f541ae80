// The character automata of a program, read byte by byte: strings with their quotes, in which characters have one form,
// as JSON.stringify writes them, or plain texts. Positions are numbers that stand for an automaton's state and the bytes
// of a character that is begun.
// Immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/character_automaton.h"
#include "text/json_lexer.h"

namespace ridge::text {

// Characters that may follow one another, whichever they are, so many at least; by their first bytes.
struct CharacterRun {
  static constexpr uint32_t kForEver = ~uint32_t{0} - 1;  // they lead back to where the run begins
  ByteSet first_bytes;
  uint32_t length = 0;
  bool after_begun = false;  // the rest of a character comes first
};

class CharacterTable {
 public:
  static constexpr size_t kMostStates = size_t{1} << 17;
  static constexpr uint32_t kNone = ~uint32_t{0}, kEnded = kNone - 1;  // kEnded: by its quote

  // Where a string that the automaton allows begins, before its quote; at least one is allowed. Empty: more than
  // kMostStates.
  std::optional<uint32_t> add(const CharacterAutomaton& automaton);
  // The same without quotes and escapes.
  static uint32_t as_text(uint32_t begin) { return begin + kBetween; }

  // `text`: it is read as a plain text.
  uint32_t next(uint32_t position, uint8_t byte, bool text) const;
  // Of a plain text: it may end here.
  bool accepts(uint32_t position) const { return code_of(position) == kBetween && states_[state_of(position)].accepts; }
  // Of all others, next() is kNone.
  ByteSet bytes(uint32_t position, bool text) const;
  static bool within_quotes(uint32_t position) { return code_of(position) != kBefore; }
  // Any character may follow, and so on for ever.
  bool is_free(uint32_t position) const;
  CharacterRun run(uint32_t position, bool text) const;
  size_t size() const { return states_.size(); }

 private:
  // Codes of what is begun: 2 … 7 are \, \u, \u0, \u00, \u000, \u001; kAny + n any n bytes more; then bits of
  // characters that 3, 2 or 1 bytes more make whole.
  static constexpr uint32_t kBits = 15, kBefore = 0, kBetween = 1, kEscape = 2, kAny = 8, kThree = 16, kTwo = 32,
                            kOne = 512;
  static uint32_t position_of(uint32_t state, uint32_t code) { return state << kBits | code; }
  static uint32_t state_of(uint32_t position) { return position >> kBits; }
  static uint32_t code_of(uint32_t position) { return position & ((1U << kBits) - 1); }
  uint32_t after(uint32_t state, char32_t character) const;
  uint32_t begun(uint32_t state, int bytes_left, char32_t bits) const;
  uint32_t escape(uint32_t state, uint32_t code, uint8_t byte) const;
  uint32_t escape_begun(uint32_t state, uint32_t code) const;

  std::vector<CharacterAutomaton::State> states_;
};

}  // namespace ridge::text
