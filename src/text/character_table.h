// The character automata of a program, read byte by byte: strings with their quotes, in which characters have one form,
// as JSON.stringify writes them, or plain texts. Positions are numbers that stand for an automaton's state and the
// bytes of a character that is begun.
// Immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "text/character_automaton.h"
#include "text/json_lexer.h"

namespace ridge::text {

// A character is of the kind of its first byte. Line ends and spaces beyond ASCII, which `.` and \s tell from those
// that begin alike, are of a second kind, too, and so is the one that comes late in a token. Bytes that are no
// character have a kind as well. The numbers are those of bytes that begin no character.
constexpr uint8_t kNoCharacter = 0x80, kLineEnd = 0x81, kOtherSpace = 0x82, kLate = 0x83;
// kLineEnd or kOtherSpace; 0 without a second one.
uint8_t second_kind_of(char32_t character);

// A number of characters that may follow one another, whichever they are.
struct CharacterRun {
  static constexpr uint32_t kLongest = 64;  // this many: then more may follow, or may not
  ByteSet kinds;                            // all of whose characters may
  ByteSet others;                           // kinds of what else may follow them; none: they are not known
  uint32_t length = 0;
  bool after_begun = false;  // the rest of a character comes first
  bool ends = false;         // it is not followed by one of its characters
  bool is_like(const CharacterRun& other) const {
    return kinds == other.kinds && length == other.length && after_begun == other.after_begun && ends == other.ends;
  }
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
  // True if a plain text may end here.
  bool accepts(uint32_t position) const { return code_of(position) == kBetween && states_[state_of(position)].accepts; }
  // Bytes of plain text; next() is kNone for all others.
  ByteSet bytes(uint32_t position, bool text) const;
  // `most`: with as many kinds as are easily found.
  CharacterRun run(uint32_t position, bool text, bool most) const;
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
  CharacterAutomaton::State characters_for_ever(uint32_t state, const CharacterAutomaton::State& least) const;

  std::vector<CharacterAutomaton::State> states_;
  std::vector<std::pair<uint32_t, ByteSet>> kinds_;  // of an automaton's characters, by its first state
};

}  // namespace ridge::text
